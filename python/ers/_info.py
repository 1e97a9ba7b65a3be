"""What calls report. Plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._native import ffi, lib

_PATHS = {lib.ERS_BY_PLAN: "plan", lib.ERS_BY_REENCODE: "reencode",
          lib.ERS_BY_PARITY: "parity"}
_STATES = {lib.ERS_IN_SYNC: "in_sync", lib.ERS_BACKFILLING: "backfilling",
           lib.ERS_DOWN: "down"}


@dataclass(frozen=True)
class ObjectInfo:
    """An object, without its bytes."""

    scheme: str
    width: str  # "narrow", "wide"; of a chain the data blocks of a stripe
    length: int  # bytes
    inline: bool  # the value rides in the manifest
    columns: bool  # its items are columns, not blocks
    group_bytes: int  # value bytes of a full group
    groups: int  # 0 when inline
    client_flags: int
    cas: int  # changes exactly when content does
    expiry: int  # Unix seconds, 0 never
    version: str  # change id, hex
    degraded: bool  # gets: some blocks had to be decoded
    repaired_blocks: int  # gets: written back on the way


@dataclass(frozen=True)
class TransitionInfo:
    """What a transition moved, and what the object is now."""

    path: str  # "plan", "reencode" or "parity"
    data_reads: int  # blocks
    parity_reads: int
    writes: int
    bytes_read: int  # payload
    bytes_written: int
    microseconds: int
    object: ObjectInfo


@dataclass(frozen=True)
class BlockState:
    """A block that the manifest names."""

    group: int
    block: int  # id in the group
    parity: bool
    stripe: int  # under the object's width
    node: int
    server: str
    bytes: int  # payload
    present: bool  # on the server, and its size is right


@dataclass(frozen=True)
class ObjectDetail:
    """An object and where its blocks and manifests are."""

    object: ObjectInfo
    blocks: tuple[BlockState, ...]
    replicas: tuple[str, ...]  # servers with the manifest, the primary last


@dataclass(frozen=True)
class ServerInfo:
    name: str
    weight: int
    state: str  # "in_sync", "backfilling" or "down"
    incarnation: int
    since: int  # Unix seconds of the last change of state
    reachable: bool  # answered just now, with the memory that the view knows
    version: str  # memcached's
    item_size_max: int
    evictions: bool  # the server may evict
    last_error: str


@dataclass(frozen=True)
class ClusterInfo:
    epoch: int  # of the view; 0: the cluster was never used
    max_failures: int
    servers: tuple[ServerInfo, ...]
    time: int  # Unix seconds by the servers' clocks: expiry goes by it


def text(chars: Any) -> str:
    decoded: str = ffi.string(chars).decode(errors="replace")
    return decoded


def _rows(array: Any, count: int) -> Any:
    """Of an array of the library's, which is NULL where it is empty."""
    return ffi.unpack(array, count) if count else ()


def object_info(info: Any) -> ObjectInfo:
    width = ffi.new("char[]", lib.ERS_SCHEME_BYTES)
    lib.ers_width_name(info.scheme, info.width, width, len(width))
    return ObjectInfo(
        scheme=text(info.scheme), width=text(width), length=info.length,
        inline=bool(info.is_inline), columns=bool(info.in_columns),
        group_bytes=info.group_bytes, groups=info.groups,
        client_flags=info.client_flags, cas=info.cas, expiry=info.expiry,
        version=text(info.version), degraded=bool(info.degraded),
        repaired_blocks=info.repaired_blocks)


def transition_info(info: Any) -> TransitionInfo:
    return TransitionInfo(
        path=_PATHS[info.path], data_reads=info.data_reads,
        parity_reads=info.parity_reads, writes=info.writes,
        bytes_read=info.bytes_read, bytes_written=info.bytes_written,
        microseconds=info.microseconds, object=object_info(info.object))


def object_detail(detail: Any) -> ObjectDetail:
    return ObjectDetail(
        object=object_info(detail.object),
        blocks=tuple(
            BlockState(group=block.group, block=block.block,
                       parity=bool(block.is_parity), stripe=block.stripe,
                       node=block.node, server=text(block.server),
                       bytes=block.bytes, present=bool(block.present))
            for block in _rows(detail.blocks, detail.block_count)),
        replicas=tuple(
            text(name)
            for name in _rows(detail.replicas, detail.replica_count)))


def cluster_info(info: Any) -> ClusterInfo:
    return ClusterInfo(
        epoch=info.epoch, max_failures=info.max_failures, time=info.time,
        servers=tuple(
            ServerInfo(name=text(server.name), weight=server.weight,
                       state=_STATES[server.state],
                       incarnation=server.incarnation, since=server.since,
                       reachable=bool(server.reachable),
                       version=text(server.version),
                       item_size_max=server.item_size_max,
                       evictions=bool(server.evictions),
                       last_error=text(server.last_error))
            for server in _rows(info.servers, info.server_count)))
