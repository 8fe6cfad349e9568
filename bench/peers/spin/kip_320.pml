/* KIP-320 as in model/reference (variant kip-320): the same variables, packed, and the same atomic steps.

   There is one process with one control state, and every step is one d_step, so SPIN stores exactly the distinct states of the model.
   Whatever is not in use is zero: no leader is 0 and broker b is b+1, no epoch is 0 and epoch e is e+1, and the unused slots of a log and
   requests that were not sent yet are 0. With -DCHECK, WeakIsr and StrongIsr are asserted once in every state.

   spin -a -DBROKERS=3 -DLOG_LENGTH=2 -DRECORDS=2 -DLAST_EPOCH=2 -DCHECK kip_320.pml */

#ifndef BROKERS
#define BROKERS 3
#endif
#ifndef LOG_LENGTH
#define LOG_LENGTH 2
#endif
#ifndef RECORDS
#define RECORDS 2
#endif
#ifndef LAST_EPOCH
#define LAST_EPOCH 2
#endif

#if BROKERS < 1 || BROKERS > 5 || LOG_LENGTH < 1 || LOG_LENGTH > 7 || RECORDS < 1 || RECORDS > 8 || LAST_EPOCH < 0 || LAST_EPOCH > 6
#error "bounds are 1..5 brokers, 1..7 records in a log, 1..8 records, last epoch 0..6"
#endif

/* How many bits each part takes, and the smallest types that hold them. SPIN's short and int have a sign, which stays clear. */

#if BROKERS <= 1
#define LEADER_BITS 1
#elif BROKERS <= 3
#define LEADER_BITS 2
#else
#define LEADER_BITS 3
#endif

#if LAST_EPOCH <= 0
#define EPOCH_BITS 1
#elif LAST_EPOCH <= 2
#define EPOCH_BITS 2
#else
#define EPOCH_BITS 3
#endif

#if LOG_LENGTH <= 1
#define OFFSET_BITS 1
#elif LOG_LENGTH <= 3
#define OFFSET_BITS 2
#else
#define OFFSET_BITS 3
#endif

#if RECORDS <= 2
#define ID_BITS 1
#elif RECORDS <= 4
#define ID_BITS 2
#else
#define ID_BITS 3
#endif

#define RECORD_BITS (ID_BITS + EPOCH_BITS)
#define LOG_BITS (LOG_LENGTH * RECORD_BITS)
#define EPOCH_AT LEADER_BITS
#define HIGH_WATERMARK_AT (EPOCH_AT + EPOCH_BITS)
#define LENGTH_AT (HIGH_WATERMARK_AT + OFFSET_BITS)
#define ISR_AT (LENGTH_AT + OFFSET_BITS)
#define VIEW_BITS (ISR_AT + BROKERS)

#if VIEW_BITS <= 15
#define VIEW_TYPE short
#else
#define VIEW_TYPE int
#endif

#if LOG_BITS <= 8
#define LOG_TYPE byte
#elif LOG_BITS <= 15
#define LOG_TYPE short
#elif LOG_BITS <= 31
#define LOG_TYPE int
#else
#error "a log does not fit into 31 bits"
#endif

/* The state. A replica's view holds, lowest bits first: leader, leader epoch, high watermark, log length, ISR. A record is its id and
   its leader epoch; offset 0 has the lowest bits of a log. The quorum and every request hold a leader and an ISR. */

VIEW_TYPE view[BROKERS];
LOG_TYPE log[BROKERS];
byte request[LAST_EPOCH + 1];
byte quorum = ((1 << BROKERS) - 1) << LEADER_BITS;
byte sent;
byte next_record;

hidden byte end;

#define MASK(bits) ((1 << (bits)) - 1)
#define ONE(broker) (1 << (broker))

#define TERM(b) (view[b] & MASK(LEADER_BITS + EPOCH_BITS))
#define LEADER(b) (view[b] & MASK(LEADER_BITS))
#define EPOCH(b) ((view[b] >> EPOCH_AT) & MASK(EPOCH_BITS))
#define HIGH_WATERMARK(b) ((view[b] >> HIGH_WATERMARK_AT) & MASK(OFFSET_BITS))
#define LENGTH(b) ((view[b] >> LENGTH_AT) & MASK(OFFSET_BITS))
#define ISR(b) (view[b] >> ISR_AT)
#define VIEW(leader, epoch, high_watermark, length, isr) \
    ((leader) | ((epoch) << EPOCH_AT) | ((high_watermark) << HIGH_WATERMARK_AT) | ((length) << LENGTH_AT) | ((isr) << ISR_AT))
#define WITH_ISR(b, isr) ((view[b] & MASK(ISR_AT)) | ((isr) << ISR_AT))

#define RECORD(b, offset) ((log[b] >> ((offset) * RECORD_BITS)) & MASK(RECORD_BITS))
#define RECORD_EPOCH(b, offset) (RECORD(b, offset) >> ID_BITS)
#define PREFIX(b, length) (log[b] & MASK((length) * RECORD_BITS))
#define SHORTER(a, b) (a < b -> a : b)

#define NAMED(assignment) (assignment & MASK(LEADER_BITS))
#define MEMBERS(assignment) (assignment >> LEADER_BITS)
#define ASSIGNMENT(leader, isr) ((leader) | ((isr) << LEADER_BITS))

#define PRESUMES(b) (LEADER(b) == (b) + 1)
#define TRUE_LEADER(b) (NAMED(quorum) == (b) + 1 && PRESUMES(b) && EPOCH(b) == sent)
#define SAME_EPOCH(follower, leader) (TERM(follower) == TERM(leader))

#define ANNOUNCE(leader, isr) quorum = ASSIGNMENT(leader, isr); request[sent] = quorum; sent = sent + 1

/* Repetition: for every broker, for every ordered pair of brokers, for a broker and every epoch, and for all brokers inside a guard. */

#define KEEP(...) __VA_ARGS__
#define DROP(...)
#if BROKERS > 1
#define BROKER_1 KEEP
#else
#define BROKER_1 DROP
#endif
#if BROKERS > 2
#define BROKER_2 KEEP
#else
#define BROKER_2 DROP
#endif
#if BROKERS > 3
#define BROKER_3 KEEP
#else
#define BROKER_3 DROP
#endif
#if BROKERS > 4
#define BROKER_4 KEEP
#else
#define BROKER_4 DROP
#endif
#if LAST_EPOCH >= 1
#define EPOCH_1 KEEP
#else
#define EPOCH_1 DROP
#endif
#if LAST_EPOCH >= 2
#define EPOCH_2 KEEP
#else
#define EPOCH_2 DROP
#endif
#if LAST_EPOCH >= 3
#define EPOCH_3 KEEP
#else
#define EPOCH_3 DROP
#endif
#if LAST_EPOCH >= 4
#define EPOCH_4 KEEP
#else
#define EPOCH_4 DROP
#endif
#if LAST_EPOCH >= 5
#define EPOCH_5 KEEP
#else
#define EPOCH_5 DROP
#endif
#if LAST_EPOCH >= 6
#define EPOCH_6 KEEP
#else
#define EPOCH_6 DROP
#endif

#define FOR_BROKERS(step) step(0) BROKER_1(step(1)) BROKER_2(step(2)) BROKER_3(step(3)) BROKER_4(step(4))
#define FOR_PAIRS(step) \
    BROKER_1(step(0, 1) step(1, 0)) \
    BROKER_2(step(0, 2) step(1, 2) step(2, 0) step(2, 1)) \
    BROKER_3(step(0, 3) step(1, 3) step(2, 3) step(3, 0) step(3, 1) step(3, 2)) \
    BROKER_4(step(0, 4) step(1, 4) step(2, 4) step(3, 4) step(4, 0) step(4, 1) step(4, 2) step(4, 3))
#define FOR_EPOCHS(step, b) \
    step(b, 0) EPOCH_1(step(b, 1)) EPOCH_2(step(b, 2)) EPOCH_3(step(b, 3)) EPOCH_4(step(b, 4)) EPOCH_5(step(b, 5)) EPOCH_6(step(b, 6))
#define ALL_BROKERS(test, ...) \
    (test(0, __VA_ARGS__) BROKER_1(&& test(1, __VA_ARGS__)) BROKER_2(&& test(2, __VA_ARGS__)) BROKER_3(&& test(3, __VA_ARGS__)) \
        BROKER_4(&& test(4, __VA_ARGS__)))

/* One step each: the guard, then the effect. */

#define ELECT_LEADER(b) \
    :: d_step { \
        sent <= LAST_EPOCH && (MEMBERS(quorum) & ONE(b)) && NAMED(quorum) != (b) + 1 -> \
        ANNOUNCE((b) + 1, MEMBERS(quorum)) \
    }

#define TAKE_FROM_ISR(b) \
    :: d_step { \
        sent <= LAST_EPOCH && (NAMED(quorum) == (b) + 1 || (MEMBERS(quorum) & ONE(b))) -> \
        if \
        :: NAMED(quorum) != (b) + 1 -> ANNOUNCE(NAMED(quorum), MEMBERS(quorum) & ~ONE(b)) \
        :: else -> ANNOUNCE(0, (MEMBERS(quorum) == ONE(b) -> ONE(b) : MEMBERS(quorum) & ~ONE(b))) \
        fi \
    }

#define BECOME_LEADER(b) FOR_EPOCHS(BECOME_LEADER_IN, b)
#define BECOME_LEADER_IN(b, epoch) \
    :: d_step { \
        epoch < sent && EPOCH(b) < epoch + 1 && NAMED(request[epoch]) == (b) + 1 -> \
        view[b] = VIEW((b) + 1, epoch + 1, HIGH_WATERMARK(b), LENGTH(b), MEMBERS(request[epoch])) \
    }

#define WRITE(b) \
    :: d_step { \
        PRESUMES(b) && next_record < RECORDS && LENGTH(b) < LOG_LENGTH -> \
        log[b] = log[b] | ((next_record | (EPOCH(b) << ID_BITS)) << (LENGTH(b) * RECORD_BITS)); \
        view[b] = view[b] + (1 << LENGTH_AT); \
        next_record = next_record + 1 \
    }

#define EXPAND_ISR(follower, leader) \
    :: d_step { \
        TRUE_LEADER(leader) && !(ISR(leader) & ONE(follower)) && SAME_EPOCH(follower, leader) \
        && HIGH_WATERMARK(leader) <= LENGTH(follower) \
        && (HIGH_WATERMARK(leader) == LENGTH(leader) \
            || (HIGH_WATERMARK(leader) < LENGTH(leader) && RECORD_EPOCH(leader, HIGH_WATERMARK(leader)) == EPOCH(leader))) -> \
        quorum = ASSIGNMENT(NAMED(quorum), ISR(leader) | ONE(follower)); \
        view[leader] = WITH_ISR(leader, ISR(leader) | ONE(follower)) \
    }

#define SHRINK_ISR(follower, leader) \
    :: d_step { \
        TRUE_LEADER(leader) && (ISR(leader) & ONE(follower)) \
        && !(SAME_EPOCH(follower, leader) && LENGTH(follower) >= LENGTH(leader)) -> \
        quorum = ASSIGNMENT(NAMED(quorum), ISR(leader) & ~ONE(follower)); \
        view[leader] = WITH_ISR(leader, ISR(leader) & ~ONE(follower)) \
    }

#define HAS_OFFSET_IN_EPOCH(member, leader) \
    (!(ISR(leader) & ONE(member)) || (SAME_EPOCH(member, leader) && LENGTH(member) > HIGH_WATERMARK(leader)))

#define ADVANCE_HIGH_WATERMARK(leader) \
    :: d_step { \
        PRESUMES(leader) && HIGH_WATERMARK(leader) < LENGTH(leader) && ALL_BROKERS(HAS_OFFSET_IN_EPOCH, leader) -> \
        view[leader] = view[leader] + (1 << HIGH_WATERMARK_AT) \
    }

#define LEADER_OF(epoch) (NAMED(request[epoch]) - 1)

#define BECOME_FOLLOWER(b) FOR_EPOCHS(BECOME_FOLLOWER_IN, b)
#define BECOME_FOLLOWER_IN(b, epoch) \
    :: d_step { \
        epoch < sent && EPOCH(b) < epoch + 1 && NAMED(request[epoch]) != 0 && NAMED(request[epoch]) != (b) + 1 \
        && TERM(LEADER_OF(epoch)) == (NAMED(request[epoch]) | ((epoch + 1) << EPOCH_AT)) -> \
        end = SHORTER(LENGTH(b), LENGTH(LEADER_OF(epoch))); \
        do \
        :: end > 0 && RECORD(b, end - 1) != RECORD(LEADER_OF(epoch), end - 1) -> end = end - 1 \
        :: else -> break \
        od; \
        log[b] = PREFIX(b, end); \
        view[b] = VIEW(NAMED(request[epoch]), epoch + 1, SHORTER(end, HIGH_WATERMARK(b)), end, MEMBERS(request[epoch])); \
        end = 0 \
    }

#define FETCH(follower, leader) \
    :: d_step { \
        PRESUMES(leader) && SAME_EPOCH(follower, leader) && LENGTH(follower) < LENGTH(leader) -> \
        end = LENGTH(follower); \
        log[follower] = log[follower] | (RECORD(leader, end) << (end * RECORD_BITS)); \
        end = end + 1; \
        view[follower] = VIEW(LEADER(follower), EPOCH(follower), SHORTER(HIGH_WATERMARK(leader), end), end, ISR(follower)); \
        end = 0 \
    }

/* What a presumed leader holds below its high watermark, every member of its own ISR (weak) or of the true one (strong) holds too.
   As an option of the loop, which is no step where the property holds, it is looked at once in every state. */

#define HOLDS_COMMITTED(member, leader, members) \
    (!((members) & ONE(member)) || (HIGH_WATERMARK(leader) <= LENGTH(leader) && HIGH_WATERMARK(leader) <= LENGTH(member) \
        && PREFIX(member, HIGH_WATERMARK(leader)) == PREFIX(leader, HIGH_WATERMARK(leader))))

#define WEAK_ISR(leader) :: d_step { PRESUMES(leader) && !ALL_BROKERS(HOLDS_COMMITTED, leader, ISR(leader)) -> assert(false) }
#define STRONG_ISR(leader) :: d_step { PRESUMES(leader) && !ALL_BROKERS(HOLDS_COMMITTED, leader, MEMBERS(quorum)) -> assert(false) }

init {
    do
#ifdef CHECK
    FOR_BROKERS(WEAK_ISR)
    FOR_BROKERS(STRONG_ISR)
#endif
    FOR_BROKERS(ELECT_LEADER)
    FOR_BROKERS(TAKE_FROM_ISR)
    FOR_BROKERS(BECOME_LEADER)
    FOR_PAIRS(EXPAND_ISR)
    FOR_PAIRS(SHRINK_ISR)
    FOR_BROKERS(WRITE)
    FOR_BROKERS(ADVANCE_HIGH_WATERMARK)
    FOR_BROKERS(BECOME_FOLLOWER)
    FOR_PAIRS(FETCH)
    od
}
