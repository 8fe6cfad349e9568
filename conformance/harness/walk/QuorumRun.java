import java.io.File;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Replicas of the metadata log, step by step: Kafka's KafkaRaftClients with logs in memory or on disk. Each has a clock of its own. */
final class QuorumRun extends Run {
    static final int VOTERS = 3, REPLICAS = 4;

    /** What can happen, how often it is drawn, and how a schedule says it. */
    enum Kind implements Step.Kind {
        DELIVER(700, "deliver %w from r%d to r%d"),
        LOSE(15, "lose %w from r%d to r%d"),
        PASS(120, "%d ms pass at r%d"),
        EXPIRE(25, "time passes at r%d until its next timer"),
        APPEND(70, "r%d appends a record"),
        KILL(5, "kill r%d"),
        LOSE_POWER(2, "r%d loses power"),
        START(25, "start r%d"),
        RESIGN(2, "r%d resigns"),
        SNAPSHOT(6, "r%d takes a snapshot and deletes the log before it"),
        ADD(6, "ask r%d to add the voter r%d"),
        REMOVE(4, "ask r%d to remove the voter r%d"),
        SHUT_DOWN(2, "shut down r%d");

        private final int weight;
        private final String text;

        Kind(int weight, String text) {
            this.weight = weight;
            this.text = text;
        }

        @Override
        public String text() {
            return text;
        }
    }

    private static final List<Kind> VARIED = List.of(Kind.LOSE, Kind.KILL, Kind.LOSE_POWER, Kind.RESIGN, Kind.SNAPSHOT, Kind.ADD, Kind.REMOVE, Kind.SHUT_DOWN);
    private static final int[] TIMES = {0, 1, 1, 4};
    private static final int REORDERED = 4;
    private static final int CALM_ROUNDS = 300, CALM_MS = 50, MOST_MESSAGES = 200;

    private static final Comparator<WalkedReplica> NEWEST = Comparator.comparing(WalkedReplica::lastEpoch).thenComparing(WalkedReplica::end);

    final boolean reconfigurable;
    final List<WalkedReplica> replicas = new ArrayList<>();
    final List<WalkedReplica.Message> messages = new ArrayList<>();
    /** Where the logs are; null if they are in memory. */
    private final File folder;
    private final Random random;
    private final List<Kind> drawn = new ArrayList<>();
    /** Half of the runs have a replica whose messages take longer. */
    private final int slow;
    private int correlation, appended;
    private WalkedReplica stepped;
    private WalkedReplica.Message delivered;
    private boolean starts, readBeyond;

    /** The epoch of each committed offset, the numbers that were read in their order, and who leads each epoch. */
    private final List<Integer> committed = new ArrayList<>(), numbers = new ArrayList<>();
    private final Map<Integer, Integer> leaders = new HashMap<>();
    private final Map<Long, Integer> votes = new HashMap<>();
    /** Who votes, by the epoch of the last record of a log and its end. */
    private final Map<Long, Set<Integer>> votersAt = new HashMap<>();
    private final int[] epochs = new int[REPLICAS], ends = new int[REPLICAS], highWatermarks = new int[REPLICAS], numbersRead = new int[REPLICAS], incarnations = new int[REPLICAS];

    QuorumRun(String release, Set<String> newOnes, long seed, File folder) {
        super(release, newOnes);
        Chance.follow(seed);
        this.folder = folder;
        random = Chance.of(seed);
        reconfigurable = any(2) == 0;
        slow = any(2) == 0 ? any(REPLICAS) : -1;
        for (Kind each : Kind.values())
            drawn.addAll(Collections.nCopies(each.weight * (VARIED.contains(each) ? TIMES[any(TIMES.length)] : 1), each));
        for (int id = 0; id < REPLICAS; id++)
            replicas.add(new WalkedReplica(this, id, folder, seed));
    }

    /** A replica of a controller flushes what it appends even while it is no voter, since it may become one; that of a broker does not. */
    boolean isController(int id) {
        return reconfigurable || id < VOTERS;
    }

    int correlation() {
        return ++correlation;
    }

    private int any(int bound) {
        return random.nextInt(bound);
    }

    @Override
    void begin() {
        replicas.forEach(WalkedReplica::start);
    }

    /** The calm: everybody is started, everything is delivered, and time passes, until all have what the leader has. */
    @Override
    void end() {
        for (int round = 0; round < CALM_ROUNDS && !behind().isEmpty(); round++)
            for (WalkedReplica each : replicas) {
                begin(each);
                starts = !each.runs();
                if (starts)
                    each.start();
                else
                    each.pass(CALM_MS);
                check();
                deliverAll();
            }
        if (leading() == null)
            broken(new Violation("somebody_leads_in_the_end", "after " + CALM_ROUNDS * CALM_MS / 1_000 + " s of calm " + seen()).with("nobody can win", replicas.stream().noneMatch(this::canWin))
                .with("who has most votes for others", !newest().votes()));
        else
            for (WalkedReplica each : behind())
                broken(new Violation("voters_catch_up_in_the_end", "r" + each.id + " does not have what the leader has: " + seen()));
    }

    private void deliverAll() {
        for (int count = 0; count < MOST_MESSAGES && !messages.isEmpty(); count++) {
            receive(messages.remove(0));
            check();
        }
    }

    /** Whether a majority of those who vote, as it knows them, would vote for this replica: it is one of them, and none of the majority has more. */
    private boolean canWin(WalkedReplica candidate) {
        Set<Integer> voters = candidate.voters();
        return candidate.votes() && 2 * voters.stream().filter(each -> NEWEST.compare(replicas.get(each), candidate) <= 0).count() > voters.size();
    }

    /** Who has the newest record. */
    private WalkedReplica newest() {
        return replicas.stream().max(NEWEST).get();
    }

    /** Who leads in the highest epoch, or null. */
    private WalkedReplica leading() {
        return replicas.stream().filter(WalkedReplica::leads).max(Comparator.comparing(WalkedReplica::epoch)).orElse(null);
    }

    /** Voters who do not have what the leader has; all replicas if nobody leads, or the leader waits for a majority. */
    private List<WalkedReplica> behind() {
        WalkedReplica leader = leading();
        if (leader == null || leader.highWatermark() < leader.end())
            return replicas;
        return replicas.stream().filter(each -> leader.voters().contains(each.id) && (!each.runs() || each.epoch() != leader.epoch() || each.highWatermark() < leader.end()))
            .collect(Collectors.toList());
    }

    @Override
    void close() {
        for (WalkedReplica each : replicas)
            try {
                if (each.runs())
                    each.kill();
            } catch (RuntimeException e) {
                // the run is over, and its folder goes
            }
        if (folder != null)
            DiskLog.delete(folder);
    }

    // ---- steps

    @Override
    boolean drawOne() {
        Kind kind = drawn.get(any(drawn.size()));
        int replica = any(REPLICAS);
        switch (kind) {
            case DELIVER:
            case LOSE:
                if (messages.isEmpty())
                    return false;
                WalkedReplica.Message message = messages.get(any(any(8) == 0 ? messages.size() : Math.min(messages.size(), REORDERED)));
                if ((message.from.id == slow || message.to.id == slow) && any(4) > 0)
                    return false;
                return perform(new Step(kind, message.word(), message.from.id, message.to.id));
            case PASS:
                return perform(new Step(kind, null, 1 + any(200), replica));
            case APPEND:
            case RESIGN:
                return perform(new Step(kind, null, leader(replica)));
            case ADD:
            case REMOVE:
                return perform(new Step(kind, null, leader(replica), replica));
            default:
                return perform(new Step(kind, null, replica));
        }
    }

    /** A replica that leads, or another one if none does. */
    private int leader(int otherwise) {
        return replicas.stream().filter(WalkedReplica::leads).mapToInt(each -> each.id).max().orElse(otherwise);
    }

    @Override
    boolean take(Step step) {
        Kind kind = (Kind) step.kind;
        int[] numbers = step.numbers;
        if (Arrays.stream(numbers, kind == Kind.PASS ? 1 : 0, numbers.length).anyMatch(each -> each >= REPLICAS))
            return false;
        if (kind == Kind.DELIVER || kind == Kind.LOSE)
            return message(kind, step);
        begin(replicas.get(numbers[kind == Kind.PASS ? 1 : 0]));
        starts = kind == Kind.START;
        if (stepped.runs() == (kind == Kind.START))
            return false;
        switch (kind) {
            case PASS:
                stepped.pass(numbers[0]);
                break;
            case EXPIRE:
                stepped.passToTimer();
                break;
            case KILL:
                stepped.kill();
                break;
            case LOSE_POWER:
                stepped.losePower();
                break;
            case START:
                stepped.start();
                break;
            case SNAPSHOT:
                return stepped.snapshot();
            case SHUT_DOWN:
                stepped.shutDown();
                break;
            default:
                if (!stepped.leads() || !reconfigurable && (kind == Kind.ADD || kind == Kind.REMOVE))
                    return false;
                asLeader(kind, numbers);
        }
        return true;
    }

    private void asLeader(Kind kind, int[] numbers) {
        if (kind == Kind.APPEND)
            stepped.append(++appended);
        else if (kind == Kind.RESIGN)
            stepped.resign();
        else if (kind == Kind.ADD)
            stepped.addVoter(replicas.get(numbers[1]));
        else
            stepped.removeVoter(replicas.get(numbers[1]));
    }

    private boolean message(Kind kind, Step step) {
        for (WalkedReplica.Message each : messages)
            if (each.from.id == step.numbers[0] && each.to.id == step.numbers[1] && each.word().equals(step.word)) {
                messages.remove(each);
                if (kind == Kind.DELIVER)
                    receive(each);
                else
                    begin(each.to);
                return true;
            }
        return false;
    }

    private void receive(WalkedReplica.Message message) {
        begin(message.to);
        delivered = message;
        if (stepped.runs())
            stepped.receive(message);
    }

    /** This replica is the next one to do something. */
    private void begin(WalkedReplica replica) {
        stepped = replica;
        delivered = null;
        starts = false;
    }

    @Override
    Step merged(Step first, Step second) {
        boolean pass = first.kind == Kind.PASS && second.kind == Kind.PASS && first.numbers[1] == second.numbers[1];
        return pass ? new Step(Kind.PASS, null, first.numbers[0] + second.numbers[0], first.numbers[1]) : null;
    }

    // ---- invariants

    @Override
    void check() {
        stepped.endIfShutDown();
        votes();
        if (!stepped.runs())
            return;
        if (incarnations[stepped.id] != stepped.incarnation) {
            incarnations[stepped.id] = stepped.incarnation;
            highWatermarks[stepped.id] = 0;
            numbersRead[stepped.id] = 0;
            ends[stepped.id] = 0;
        }
        int epoch = stepped.epoch();
        require(epoch >= epochs[stepped.id], "epochs_do_not_go_back", "r" + stepped.id + " was in epoch " + epochs[stepped.id] + ", and is in epoch " + epoch);
        epochs[stepped.id] = epoch;
        if (stepped.leads())
            leads(epoch);
        readBeyond |= stepped.hasReadBeyondItsLog();
        voters();
        highWatermark();
        read();
    }

    private void require(boolean holds, String invariant, String told) {
        if (!holds)
            broken(new Violation(invariant, told));
    }

    private void votes() {
        int vote = stepped.storedVote();
        Integer before = vote < 0 ? null : votes.put((long) stepped.storedEpoch() * REPLICAS + stepped.id, vote);
        require(before == null || before == vote, "one_vote_in_each_epoch", "r" + stepped.id + " has voted in epoch " + stepped.storedEpoch() + " for r" + before + " and for r" + vote);
    }

    /** Logs that end with the same record are the same. */
    private void voters() {
        int end = stepped.end();
        if (end == ends[stepped.id])
            return;
        ends[stepped.id] = end;
        Set<Integer> voters = stepped.voters(), before = votersAt.putIfAbsent((long) stepped.lastEpoch() << 32 | end, voters);
        if (before != null && !before.equals(voters))
            broken(new Violation("equal_logs_have_equal_voters", "the log of r" + stepped.id + " ends at " + end + ", and it takes " + voters + " for the voters, and another that has the same took " + before)
                .with("somebody has read beyond its log", readBeyond));
    }

    private void leads(int epoch) {
        Integer before = leaders.put(epoch, stepped.id);
        if (before != null && before != stepped.id) {
            broken(new Violation("one_leader_in_each_epoch", "r" + before + " and r" + stepped.id + " lead in epoch " + epoch).with("stands again", stepped.standsAgain));
            throw new Ended();  // whatever is found after this follows from it
        }
        if (before != null)
            return;
        int from = Math.min(stepped.logStart(), committed.size());
        List<Integer> wanted = committed.subList(from, committed.size()), has = stepped.epochs(from);
        require(has.size() >= wanted.size() && has.subList(0, wanted.size()).equals(wanted), "leaders_have_what_is_committed",
            "r" + stepped.id + " leads in epoch " + epoch + "; from offset " + from + " the epochs of its records are " + has + ", and of committed ones " + wanted);
    }

    private void highWatermark() {
        int now = stepped.highWatermark(), before = highWatermarks[stepped.id];
        if (now < 0)
            return;
        require(now >= before, "high_watermarks_do_not_go_back", "the high watermark of r" + stepped.id + " was " + before + ", and is " + now);
        require(now <= stepped.end(), "high_watermarks_are_within_logs", "the high watermark of r" + stepped.id + " is " + now + ", and its log ends at " + stepped.end());
        if (now <= before)
            return;
        int from = Math.max(before, stepped.logStart());
        List<Integer> has = stepped.epochs(from);
        for (int offset = from; offset < now; offset++) {
            if (offset == committed.size())
                committed.add(has.get(offset - from));
            require(offset < committed.size() && committed.get(offset).equals(has.get(offset - from)), "committed_records_stay",
                "r" + stepped.id + " has a record of epoch " + has.get(offset - from) + " at offset " + offset + ", and committed are records of " + committed);
        }
        highWatermarks[stepped.id] = now;
    }

    private void read() {
        for (; numbersRead[stepped.id] < stepped.read.size(); numbersRead[stepped.id]++) {
            int at = numbersRead[stepped.id], number = stepped.read.get(at)[2];
            if (at == numbers.size())
                numbers.add(number);
            require(numbers.get(at) == number, "listeners_read_the_same", "r" + stepped.id + " reads " + number + " as record " + at + ", and another has read " + numbers.get(at));
        }
    }

    /** An exception out of poll() ends the process. What recognisers ask is how the replica stood. */
    @Override
    Violation explained(Throwable thrown) {
        boolean runs = stepped != null && stepped.runs();
        int from = delivered == null ? -1 : delivered.from.id;
        return super.explained(thrown).with("delivered", delivered == null ? "" : delivered.word()).with("from", from)
            .with("leads", runs && stepped.leads()).with("role", runs ? stepped.role() : "").with("starts", starts).with("stands again", stepped != null && stepped.standsAgain)
            .with("sender votes", runs && from >= 0 && stepped.voters().contains(from)).with("no endpoints are told", delivered != null && delivered.tellsNoEndpoints())
            .with("ends at its snapshot", runs && stepped.end() == stepped.snapshotEnd())
            .with("its log has a later epoch than its snapshot", runs && stepped.endsLaterThanItsSnapshot()).with("somebody has read beyond its log", readBeyond);
    }

    // ---- what a schedule shows

    @Override
    Map<String, String> seen() {
        Map<String, String> seen = new TreeMap<>();
        for (WalkedReplica each : replicas)
            seen.put("r" + each.id, each.shown());
        return seen;
    }
}
