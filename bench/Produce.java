import java.io.DataInputStream;
import java.io.BufferedInputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * {@code java Produce.java BROKERS TOPIC PARTITIONS RECORDS COMPRESSION FILE} writes the values of a file, each behind its
 * length in four bytes, to the partitions in turn, and begins again at the first one until there are so many records.
 */
public final class Produce {
    public static void main(String[] arguments) throws Exception {
        String topic = arguments[1];
        int partitions = Integer.parseInt(arguments[2]);
        int records = Integer.parseInt(arguments[3]);
        List<byte[]> values = read(arguments[5]);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("compression.type", arguments[4]);
        settings.put("batch.size", "131072");
        settings.put("linger.ms", "20");
        ByteArraySerializer asItIs = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, asItIs, asItIs)) {
            for (int number = 0; number < records; number++) {
                byte[] value = values.get(number % values.size());
                producer.send(
                        new ProducerRecord<>(topic, number % partitions, null, value),
                        (metadata, error) -> {
                            if (error != null) {
                                error.printStackTrace();
                                Runtime.getRuntime().halt(1);
                            }
                        });
            }
        }
    }

    private static List<byte[]> read(String file) throws IOException {
        List<byte[]> values = new ArrayList<>();
        try (DataInputStream input = new DataInputStream(new BufferedInputStream(new FileInputStream(file)))) {
            while (true) {
                byte[] value = new byte[input.readInt()];
                input.readFully(value);
                values.add(value);
            }
        } catch (EOFException end) {
            return values;
        }
    }
}
