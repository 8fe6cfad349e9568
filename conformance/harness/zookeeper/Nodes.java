import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import kafka.zookeeper.AsyncRequest;
import kafka.zookeeper.AsyncResponse;
import kafka.zookeeper.CheckOp;
import kafka.zookeeper.CreateOp;
import kafka.zookeeper.CreateRequest;
import kafka.zookeeper.CreateResponse;
import kafka.zookeeper.DeleteOp;
import kafka.zookeeper.DeleteRequest;
import kafka.zookeeper.DeleteResponse;
import kafka.zookeeper.ExistsRequest;
import kafka.zookeeper.ExistsResponse;
import kafka.zookeeper.GetChildrenRequest;
import kafka.zookeeper.GetChildrenResponse;
import kafka.zookeeper.GetDataRequest;
import kafka.zookeeper.GetDataResponse;
import kafka.zookeeper.MultiRequest;
import kafka.zookeeper.MultiResponse;
import kafka.zookeeper.ResponseMetadata;
import kafka.zookeeper.SetDataOp;
import kafka.zookeeper.SetDataRequest;
import kafka.zookeeper.SetDataResponse;
import kafka.zookeeper.ZNodeChangeHandler;
import kafka.zookeeper.ZNodeChildChangeHandler;
import kafka.zookeeper.ZkOp;
import kafka.zookeeper.ZkOpResult;
import kafka.zookeeper.ZooKeeperClient;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.data.Stat;
import scala.collection.Seq;

/**
 * ZooKeeper's nodes in a map, each with its data and its version. It stands where Kafka's connection to ZooKeeper stands, below the real
 * KafkaZkClient. It is made without a constructor, because that of ZooKeeperClient connects.
 */
final class Nodes extends ZooKeeperClient {
    private static final class Node {
        final byte[] data;
        final int version;
        final long created;

        Node(byte[] data, int version, long created) {
            this.data = data;
            this.version = version;
            this.created = created;
        }

        Stat stat() {
            Stat stat = new Stat();
            stat.setVersion(version);
            stat.setCzxid(created);
            return stat;
        }
    }

    private Map<String, Node> nodes;

    private Nodes() {
        super(null, 0, 0, 0, null, null, null, null, null);
    }

    static Nodes unconnected() throws ReflectiveOperationException {
        Nodes made = (Nodes) sun.reflect.ReflectionFactory.getReflectionFactory()
            .newConstructorForSerialization(Nodes.class, Object.class.getDeclaredConstructor()).newInstance();
        made.nodes = new HashMap<>();
        return made;
    }

    void clear() {
        nodes.clear();
    }

    void put(String path, byte[] data, int version) {
        put(path, data, version, 0);
    }

    /** A node that was created by some transaction, which is the broker epoch of a broker's. */
    void put(String path, byte[] data, int version, long created) {
        nodes.put(path, new Node(data, version, created));
    }

    boolean exists(String path) {
        return nodes.containsKey(path);
    }

    // No watch fires: the harness calls the handler itself.

    @Override
    public void registerZNodeChangeHandler(ZNodeChangeHandler handler) { }

    @Override
    public void unregisterZNodeChangeHandler(String path) { }

    @Override
    public void registerZNodeChildChangeHandler(ZNodeChildChangeHandler handler) { }

    @Override
    public void unregisterZNodeChildChangeHandler(String path) { }

    byte[] data(String path) {
        Node node = nodes.get(path);
        return node == null ? null : node.data;
    }

    Stat stat(String path) {
        return nodes.get(path).stat();
    }

    @Override
    public <R extends AsyncRequest> Seq<AsyncResponse> handleRequests(Seq<R> requests) {
        List<AsyncResponse> responses = new ArrayList<>();
        for (Object each : Scala.collection(requests))
            responses.add(response((AsyncRequest) each));
        @SuppressWarnings("unchecked")
        Seq<AsyncResponse> all = (Seq<AsyncResponse>) Scala.list(responses);
        return all;
    }

    private AsyncResponse response(AsyncRequest request) {
        ResponseMetadata at = new ResponseMetadata(0, 0);
        String path = request.path();
        if (request instanceof GetDataRequest) {
            Node node = nodes.get(path);
            return new GetDataResponse(node == null ? Code.NONODE : Code.OK, path, request.ctx(), data(path), node == null ? null : node.stat(), at);
        }
        if (request instanceof ExistsRequest) {
            Node node = nodes.get(path);
            return new ExistsResponse(node == null ? Code.NONODE : Code.OK, path, request.ctx(), node == null ? null : node.stat(), at);
        }
        if (request instanceof GetChildrenRequest) {
            Seq<String> children = children(path);
            boolean there = nodes.containsKey(path) || children.nonEmpty();
            return new GetChildrenResponse(there ? Code.OK : Code.NONODE, path, request.ctx(), children, new Stat(), at);
        }
        if (request instanceof DeleteRequest) {
            Code code = delete(path, ((DeleteRequest) request).version());
            return new DeleteResponse(code, path, request.ctx(), at);
        }
        if (request instanceof CreateRequest) {
            Code code = create(path, ((CreateRequest) request).data());
            return new CreateResponse(code, path, request.ctx(), code == Code.OK ? path : null, at);
        }
        if (request instanceof SetDataRequest) {
            SetDataRequest set = (SetDataRequest) request;
            Code code = mayChange(path, set.version());
            return new SetDataResponse(code, path, request.ctx(), code == Code.OK ? changed(path, set.data()) : null, at);
        }
        List<ZkOpResult> results = new ArrayList<>();
        Code code = all((MultiRequest) request, results);
        @SuppressWarnings("unchecked")
        Seq<ZkOpResult> made = (Seq<ZkOpResult>) Scala.list(results);
        return new MultiResponse(code, null, request.ctx(), made, at);
    }

    /** All operations, or none where one fails: the ones before it then say OK, the ones after it that they were not tried. */
    private Code all(MultiRequest request, List<ZkOpResult> results) {
        Map<String, Node> before = new HashMap<>(nodes);
        Code failed = Code.OK;
        List<ZkOp> ops = new ArrayList<>();
        for (Object each : Scala.collection(request.zkOps())) {
            ZkOp op = (ZkOp) each;
            ops.add(op);
            if (failed == Code.OK && (failed = one(op, results)) != Code.OK) {
                nodes = before;
                results.clear();
                for (ZkOp other : ops)
                    results.add(new ZkOpResult(other, new OpResult.ErrorResult(other == op ? failed.intValue() : Code.OK.intValue())));
            } else if (failed != Code.OK && results.size() < ops.size()) {
                results.add(new ZkOpResult(op, new OpResult.ErrorResult(Code.RUNTIMEINCONSISTENCY.intValue())));
            }
        }
        return failed;
    }

    private Code one(ZkOp op, List<ZkOpResult> results) {
        Code code;
        OpResult result = null;
        if (op instanceof CheckOp) {
            code = mayChange(((CheckOp) op).path(), ((CheckOp) op).version());
            result = new OpResult.CheckResult();
        } else if (op instanceof CreateOp) {
            code = create(((CreateOp) op).path(), ((CreateOp) op).data());
            result = new OpResult.CreateResult(((CreateOp) op).path());
        } else if (op instanceof DeleteOp) {
            code = delete(((DeleteOp) op).path(), ((DeleteOp) op).version());
            result = new OpResult.DeleteResult();
        } else {
            SetDataOp set = (SetDataOp) op;
            code = mayChange(set.path(), set.version());
            if (code == Code.OK)
                result = new OpResult.SetDataResult(changed(set.path(), set.data()));
        }
        if (code == Code.OK)
            results.add(new ZkOpResult(op, result));
        return code;
    }

    /** A parent is there if a child is. */
    @SuppressWarnings("unchecked")
    private Seq<String> children(String path) {
        Set<String> names = new TreeSet<>();
        for (String each : nodes.keySet())
            if (each.startsWith(path + "/"))
                names.add(each.substring(path.length() + 1).split("/")[0]);
        return (Seq<String>) Scala.list(names);
    }

    private Code delete(String path, int version) {
        Code code = mayChange(path, version);
        if (code == Code.OK)
            nodes.remove(path);
        return code;
    }

    private Code create(String path, byte[] data) {
        if (nodes.containsKey(path))
            return Code.NODEEXISTS;
        put(path, data, 0);
        return Code.OK;
    }

    private Code mayChange(String path, int version) {
        if (!nodes.containsKey(path))
            return Code.NONODE;
        return version < 0 || version == nodes.get(path).version ? Code.OK : Code.BADVERSION;
    }

    private Stat changed(String path, byte[] data) {
        put(path, data, nodes.get(path).version + 1, nodes.get(path).created);
        return stat(path);
    }
}
