import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.metadata.BrokerRegistrationChangeRecord;
import org.apache.kafka.common.metadata.FeatureLevelRecord;
import org.apache.kafka.common.metadata.PartitionChangeRecord;
import org.apache.kafka.common.metadata.PartitionRecord;
import org.apache.kafka.common.metadata.RegisterBrokerRecord;
import org.apache.kafka.common.metadata.TopicRecord;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.FileRecords;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.SimpleRecord;
import org.apache.kafka.metadata.MetadataRecordSerde;
import org.apache.kafka.server.common.ApiMessageAndVersion;

/**
 * Writes the metadata log of a large cluster: FOLDER PARTITIONS RECORDS. Topics are created, leaders take followers out of the ISR and
 * in again, and now and then a broker is fenced, unfenced, and comes back. It is what a controller of 4.1 without ELR records.
 */
public final class MetadataLog {
    private static final int BROKERS = 12;
    private static final int PER_TOPIC = 100;
    private static final int MOST = 10_000;
    private static final Random CHANCE = new Random(1);
    private static FileRecords log;
    private static long offset;
    private static long bytes;
    private static int segment;
    private static File folder;
    private static final List<ApiMessageAndVersion> batch = new ArrayList<>();
    private static int[][] replicas;
    private static List<List<Integer>> isr;
    private static int[] leader;
    private static boolean[] fenced = new boolean[BROKERS];

    public static void main(String[] arguments) throws Exception {
        int partitions = Integer.parseInt(arguments[1]);
        long records = Long.parseLong(arguments[2]);
        folder = new File(arguments[0], "controller/data/__cluster_metadata-0");
        folder.mkdirs();
        Files.writeString(new File(folder.getParentFile(), "meta.properties").toPath(), "version=1\ncluster.id=c\nnode.id=100\n");
        Files.writeString(new File(folder, "leader-epoch-checkpoint").toPath(), "0\n1\n1 0\n");
        add(new FeatureLevelRecord().setName("metadata.version").setFeatureLevel((short) 27), 0);
        for (int broker = 0; broker < BROKERS; broker++)
            add(new RegisterBrokerRecord().setBrokerId(broker).setBrokerEpoch(broker).setFenced(false).setLogDirs(List.of(dir(broker))), 3);
        end();
        replicas = new int[partitions][];
        isr = new ArrayList<>();
        leader = new int[partitions];
        for (int partition = 0; partition < partitions; partition++)
            create(partition);
        while (offset < records) {
            if (CHANCE.nextInt(40_000) == 0)
                fence(CHANCE.nextInt(BROKERS));
            else
                alter(CHANCE.nextInt(partitions));
        }
        log.close();
    }

    private static Uuid dir(int broker) {
        return new Uuid(7, 1000 + broker);
    }

    private static Uuid topic(int partition) {
        return new Uuid(9, 1000 + partition / PER_TOPIC);
    }

    private static void create(int partition) throws Exception {
        if (partition % PER_TOPIC == 0) {
            end();
            add(new TopicRecord().setName("t" + partition / PER_TOPIC).setTopicId(topic(partition)), 0);
        }
        List<Integer> of = List.of(partition % BROKERS, (partition + 1) % BROKERS, (partition + 2 + partition / BROKERS % 9) % BROKERS);
        replicas[partition] = of.stream().mapToInt(each -> each).toArray();
        isr.add(new ArrayList<>(of));
        leader[partition] = of.get(0);
        add(new PartitionRecord().setTopicId(topic(partition)).setPartitionId(partition % PER_TOPIC).setReplicas(of).setIsr(of)
            .setLeader(of.get(0)).setLeaderEpoch(0).setPartitionEpoch(0).setDirectories(of.stream().map(MetadataLog::dir).toList()), 1);
    }

    private static PartitionChangeRecord change(int partition) {
        return new PartitionChangeRecord().setTopicId(topic(partition)).setPartitionId(partition % PER_TOPIC);
    }

    private static void alter(int partition) throws Exception {
        List<Integer> members = isr.get(partition);
        int other = replicas[partition][CHANCE.nextInt(3)];
        if (leader[partition] < 0 || other == leader[partition] || fenced[other])
            return;
        if (!members.remove((Integer) other))
            members.add(other);
        add(change(partition).setIsr(List.copyOf(members)), 0);
        if (batch.size() > CHANCE.nextInt(12))
            end();
    }

    private static void fence(int broker) throws Exception {
        end();
        for (int partition = 0; partition < leader.length; partition++) {
            List<Integer> members = isr.get(partition);
            if (!members.contains(broker) || members.size() == 1 && leader[partition] != broker)
                continue;
            PartitionChangeRecord record = change(partition);
            if (members.size() > 1) {
                members.remove((Integer) broker);
                record.setIsr(List.copyOf(members));
            }
            if (leader[partition] == broker) {
                leader[partition] = -1;
                for (int each : replicas[partition])
                    if (leader[partition] < 0 && each != broker && members.contains(each) && !fenced[each])
                        leader[partition] = each;
                record.setLeader(leader[partition]);
            }
            add(record, 0);
            if (batch.size() == MOST)
                end();
        }
        add(new BrokerRegistrationChangeRecord().setBrokerId(broker).setBrokerEpoch(broker).setFenced((byte) 1), 0);
        end();
        add(new BrokerRegistrationChangeRecord().setBrokerId(broker).setBrokerEpoch(broker).setFenced((byte) -1), 0);
        for (int partition = 0; partition < leader.length; partition++)
            if (leader[partition] < 0 && isr.get(partition).contains(broker)) {
                leader[partition] = broker;
                add(change(partition).setLeader(broker), 0);
                if (batch.size() == MOST)
                    end();
            }
        end();
    }

    private static void add(ApiMessage message, int version) {
        batch.add(new ApiMessageAndVersion(message, (short) version));
    }

    private static void end() throws Exception {
        if (batch.isEmpty())
            return;
        List<SimpleRecord> records = new ArrayList<>();
        for (ApiMessageAndVersion each : batch) {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            java.nio.ByteBuffer buffer = java.nio.ByteBuffer.allocate(MetadataRecordSerde.INSTANCE.recordSize(each, cache));
            MetadataRecordSerde.INSTANCE.write(each, cache, new ByteBufferAccessor(buffer));
            buffer.flip();
            records.add(new SimpleRecord(1_700_000_000_000L + offset, (byte[]) null, org.apache.kafka.common.utils.Utils.toArray(buffer)));
        }
        MemoryRecords made = MemoryRecords.withRecords(offset, Compression.NONE, 1, records.toArray(new SimpleRecord[0]));
        if (log == null || bytes > 64 << 20) {
            if (log != null)
                log.close();
            log = FileRecords.open(new File(folder, String.format(Locale.ROOT, "%020d.log", offset)));
            bytes = 0;
        }
        bytes += log.append(made);
        offset += batch.size();
        batch.clear();
    }
}
