import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;

/**
 * Flink SQL: {@code java FlinkSql.java BROKERS FOLDER COLUMNS FORMAT LEVEL} stores the topics that it reads from standard
 * input. FORMAT are the options of the source's format, LEVEL is that of zstd.
 *
 * <p>A batch job with Flink's Kafka source and Parquet, in a cluster inside this process. It prints a line when it is ready,
 * and one after each topic.
 */
public final class FlinkSql {
    private static final String CORES = "2";

    public static void main(String[] arguments) throws Exception {
        String brokers = arguments[0];
        String folder = arguments[1];
        String columns = arguments[2];
        String format = arguments[3];
        String level = arguments[4];
        Configuration configuration = new Configuration();
        configuration.setString("table.exec.resource.default-parallelism", CORES);
        configuration.setString("parallelism.default", CORES);
        configuration.setString("pipeline.object-reuse", "true");
        configuration.setString("taskmanager.memory.managed.size", "64m");
        configuration.setString("table.local-time-zone", "UTC");
        TableEnvironment tables =
                TableEnvironment.create(
                        EnvironmentSettings.newInstance().inBatchMode().withConfiguration(configuration).build());
        System.out.println("ready");
        BufferedReader topics = new BufferedReader(new InputStreamReader(System.in));
        int number = 0;
        for (String topic = topics.readLine(); topic != null; topic = topics.readLine()) {
            number++;
            tables.executeSql(
                    String.format(
                            "CREATE TABLE source%d (%s) WITH ('connector' = 'kafka', 'topic' = '%s',"
                                    + " 'properties.bootstrap.servers' = '%s',"
                                    + " 'scan.startup.mode' = 'earliest-offset',"
                                    + " 'scan.bounded.mode' = 'latest-offset', %s)",
                            number, columns, topic, brokers, format));
            tables.executeSql(
                    String.format(
                            "CREATE TABLE sink%d (%s) WITH ('connector' = 'filesystem', 'path' = 'file://%s/%s',"
                                    + " 'format' = 'parquet', 'parquet.compression' = 'ZSTD',"
                                    + " 'parquet.compression.codec.zstd.level' = '%s')",
                            number, columns, folder, topic, level));
            tables.executeSql(String.format("INSERT INTO sink%d SELECT * FROM source%d", number, number)).await();
            System.out.println(topic);
        }
    }
}
