// Made the .batch files beside it, with kafka-clients 4.3.0: java -cp 'kafka-clients.jar:…' MakeBatches.java
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;

public class MakeBatches {
    public static void main(String[] arguments) throws Exception {
        SimpleRecord[] records = IntStream.range(0, 20).mapToObj(MakeBatches::record).toArray(SimpleRecord[]::new);
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            ByteBuffer batch = MemoryRecords.withRecords(RecordBatch.MAGIC_VALUE_V2, 1000L,
                Compression.of(codec).build(), TimestampType.CREATE_TIME, records).buffer();
            byte[] bytes = new byte[batch.remaining()];
            batch.get(bytes);
            Files.write(Path.of(codec + ".batch"), bytes);
        }
    }

    static SimpleRecord record(int i) {
        byte[] key = i % 3 == 0 ? null : ("key-" + i).getBytes();
        byte[] value = i % 5 == 4 ? null : ("value " + i + " of a record that compresses ").repeat(1 + i).getBytes();
        Header[] headers = i % 4 == 0
            ? new Header[] {new RecordHeader("h", ("" + i).getBytes()), new RecordHeader("n", (byte[]) null)}
            : new Header[0];
        return new SimpleRecord(1700000000000L + i, key, value, headers);
    }
}
