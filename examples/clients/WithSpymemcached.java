// spymemcached with an ersproxy: java WithSpymemcached [HOST:PORT]
import java.util.concurrent.TimeUnit;
import net.spy.memcached.AddrUtil;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.FailureMode;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.transcoders.SerializingTranscoder;

public class WithSpymemcached {
  public static void main(String[] args) throws Exception {
    String address = args.length > 0 ? args[0] : "127.0.0.1:11311";
    // 20 MiB by default; values may have 256 MiB.
    SerializingTranscoder transcoder =
        new SerializingTranscoder(256 * 1024 * 1024);
    transcoder.setCompressionThreshold(Integer.MAX_VALUE);
    MemcachedClient client = new MemcachedClient(
        new ConnectionFactoryBuilder()
            .setOpTimeout(10_000)  // milliseconds; 2500 by default
            .setFailureMode(FailureMode.Retry)
            .setMaxReconnectDelay(1)  // seconds; 30 by default
            .setTranscoder(transcoder)
            .build(),
        AddrUtil.getAddresses(address));
    byte[] value = new byte[3_000_000];
    client.set("photo", 3600, value).get(10, TimeUnit.SECONDS);
    System.out.println(((byte[]) client.get("photo")).length + " bytes");
    client.shutdown();
  }
}
