import java.net.InetSocketAddress;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.RetryingHMSHandler;
import org.apache.hadoop.hive.metastore.TSetIpAddressProcessor;
import org.apache.hadoop.hive.metastore.conf.MetastoreConf;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;

/**
 * A Hive metastore on one address: {@code java HiveMetastore.java HOST PORT NAME=VALUE...} with its settings.
 *
 * <p>The program that Hive has for it listens on all addresses of the machine.
 */
public final class HiveMetastore {
    public static void main(String[] arguments) throws Exception {
        Configuration settings = MetastoreConf.newMetastoreConf();
        for (int place = 2; place < arguments.length; place++) {
            String[] setting = arguments[place].split("=", 2);
            settings.set(setting[0], setting[1]);
        }
        TxnDbUtil.prepDb(settings); // the tables of locks, which Iceberg's clients take
        var address = new InetSocketAddress(arguments[0], Integer.parseInt(arguments[1]));
        var metastore = new HiveMetaStore.HMSHandler("metastore", settings, false);
        var handler = RetryingHMSHandler.getProxy(settings, metastore, true);
        var server = new TThreadPoolServer.Args(new TServerSocket(address));
        server.processor(new TSetIpAddressProcessor<>(handler)).protocolFactory(new TBinaryProtocol.Factory());
        new TThreadPoolServer(server).serve();
    }
}
