"""All claims: those of the paper in its order, then those asked of libers."""

from reporting import claims
from reporting.claims import Claim

PAPER = (
    Claim("grows-with-size", "Exp. 1", "Writing and reading take longer the "
          "larger the object is.", claims.AT_PAPER, claims.grows_with_size,
          "Every byte passes the client's link.",
          "Small objects take what a round trip takes, whatever their size."),
    Claim("codes-write-alike", "Exp. 1", "SRS, ERS-1 and ERS-2 write in "
          "similar times (here: within 10 %).",
          claims.AT_PAPER, claims.codes_write_alike,
          "They store as many blocks on as many servers.",
          "They store as many blocks on as many servers: what differs is "
          "which server takes how many, and noise."),
    Claim("copies-write-faster", "Exp. 1", "Copies are written faster than "
          "coded objects.", claims.AT_PAPER, claims.copies_write_faster,
          "Copies take fewer servers, each of which has to be woken.",
          "The paper's prototype sets one block after another, a round trip "
          "each. Here all blocks leave at once, and of a large object are "
          "fewer bytes than copies; of a small one they have more servers to "
          "wake, and a commit."),
    Claim("copies-read-faster", "Exp. 1", "Copies are read faster than coded "
          "objects, from 1 MB up.", claims.AT_PAPER, claims.copies_read_faster,
          "One server answers with all of a copy.",
          "Blocks are asked for at once and come from k' servers side by "
          "side."),
    Claim("ers-beats-srs", "Exp. 2", "ERS-1 and ERS-2 transitions take less "
          "than SRS's at every size.",
          claims.AT_PAPER, claims.ers_beats_srs("exp2"),
          "They read fewer blocks.",
          "Where an object is small, round trips and the commit, which all "
          "schemes have, outweigh the blocks."),
    Claim("ers2-beats-ers1", "Exp. 2, 3", "ERS-2 takes less than ERS-1 "
          "(5 % of noise allowed).", claims.AT_PAPER, claims.ers2_beats_ers1,
          "It reads as many blocks or fewer.",
          "It reads as many blocks or fewer; where the difference is a block "
          "or two, noise decides."),
    Claim("gains-grow-with-size", "Exp. 2, 3", "Gains over SRS grow with the "
          "object's size.", claims.AT_PAPER, claims.gains_grow_with_size,
          "The network's part of the time grows, and ERS saves that part.",
          "On links that are the limit already for the smallest object, "
          "nothing is left to grow."),
    Claim("forward-most", "Exp. 3", "ERS-2 reduces the forward transition by "
          "up to 65.8 %.", claims.AT_PAPER, claims.as_far_as("forward", 65.8),
          "Most of the blocks need not be read.",
          "The paper's SRS re-encodes the old parity, too, which is not " "needed; ours does not, so there is less to save. Where the link is "
          "no limit, what all schemes do alike keeps its part of the time."),
    Claim("backward-most", "Exp. 3", "ERS-2 reduces the backward transition by "
          "up to 60.9 %.", claims.AT_PAPER, claims.as_far_as("backward", 60.9),
          "Most of the blocks need not be read.",
          "The paper's SRS re-encodes the old parity, too, which is not " "needed; ours does not, so there is less to save."),
    Claim("near-theory", "Exp. 3", "Reductions of time are comparable to those "
          "of blocks read (4 MB forward; here: within 10 points).",
          claims.AT_PAPER, claims.gains_near_theory,
          "Parity is staged while other blocks are still read, so reads "
          "decide.",
          "Where the link is no limit, what all schemes do alike (commit, "
          "staging of parity, waking servers) keeps its part of the time."),
    Claim("gains-grow-on-slow-links", "Exp. 4", "Gains over SRS are greater on "
          "slower links.", claims.OVER_LINKS, claims.gains_grow_on_slow_links,
          "The network's part of the time is greater there.",
          "Once the link is the limit, a slower one changes nothing but "
          "noise."),
    Claim("order-selection", "Exp. 5", "ERS-2's order selection makes backward "
          "transitions faster, in every set.",
          claims.AT_PAPER, claims.order_selection_saves,
          "It reads fewer data blocks.",
          "Where it saves a block or two, noise decides."),
    Claim("cloud-over-srs", "Exp. 6", "In a cloud, ERS-1 and ERS-2 take less "
          "than SRS at every size.",
          claims.IN_CLOUD, claims.ers_beats_srs("exp6"),
          "They read fewer blocks.",
          "Where an object is small, round trips and the commit outweigh the "
          "blocks."),
    Claim("cloud-small-sets", "Exp. 7", "In a cloud, gains are greater than "
          "locally for (4,1,5) and (5,1,6), and smaller for the other sets.",
          claims.IN_CLOUD, claims.cloud_gains_more_when_small,
          "The cloud has less bandwidth, and stragglers among many servers.",
          "Delays here are the bed's: no neighbours make stragglers of "
          "some servers."),
)

ASKED = (
    Claim("time-follows-blocks", "asked", "ERS-2 reduces SRS's time by at "
          "least as much as blocks read, less 5 points at 4 MiB and 8 at "
          "1 MiB (200 and 500 Mbit/s, both ways).",
          claims.as_named("200, 500 Mbit/s"),
          claims.time_follows_blocks,
          "Reads decide, as parity leaves on the link's other way meanwhile.",
          "The client's link carries what is read; the commit's round trips "
          "and the parity that is staged last stay."),
    Claim("order-of-schemes", "asked", "Full re-encode > SRS > ERS-1 >= ERS-2 "
          "by the paper's plan >= by the optimal plan at 200 Mbit/s, at every "
          "set (experiments 3 and 4); within 5 % where they move as many "
          "blocks.",
          claims.as_named("200 Mbit/s"),
          claims.order_of_schemes,
          "Each moves no more blocks than the one before it.",
          "A plan may read fewer blocks in all and yet more from one server, "
          "or be stopped by packets that a full queue dropped; where plans "
          "move as many blocks, noise decides."),
    Claim("coding-writes-faster", "asked", "From 64 KiB up and up to 1 Gbit/s "
          "a PUT is faster than of copies that survive as many failures.",
          claims.as_named("up to 1 Gbit/s"),
          claims.coding_writes_faster,
          "(k+m)/k times the object leaves, not m+1 times.",
          "On fast links and for small objects a round trip to more servers "
          "costs more than the bytes that are saved; elsewhere a packet that "
          "a full queue dropped costs 0.2 s."),
    Claim("coding-reads-as-fast", "asked", "From 64 KiB up a GET takes at most "
          "1.1 of the time of copies where the client's link is the limit (up "
          "to 1 Gbit/s).", claims.as_named("up to 1 Gbit/s"),
          claims.coding_reads_as_fast,
          "The same bytes come in, from several servers at once.",
          "Headers of blocks, and replies of many servers that meet on one "
          "link, whose queue drops some."),
    Claim("coding-reads-faster-over-servers", "asked", "From 64 KiB up a GET is "
          "faster than of copies where the servers' links are the limit.",
          claims.as_named("servers' links"),
          claims.coding_reads_faster_over_servers,
          "k servers send a part each over links of their own, where one sends "
          "all of a copy; of short objects, much of the parts comes out of "
          "the links' bursts.",
          "Processors that all nodes of one machine share."),
    Claim("bytes-as-counted", "asked", "Transitions move the bytes that the "
          "analyser counts (within 1 %).",
          claims.as_named("all links"),
          claims.bytes_as_counted,
          "One plan is counted and run.",
          "Manifests, headers, and what is asked for twice."),
    Claim("interfaces-agree", "asked", "The client's interface counts within "
          "5 % of what its sockets moved, where that is 512 KiB or more.",
          claims.as_named("all links"),
          claims.interfaces_agree,
          "Headers and acknowledgements are little beside it.",
          "The shorter the pieces that a link takes at once, the more of them "
          "is headers and acknowledgements."),
)

ALL = PAPER + ASKED
