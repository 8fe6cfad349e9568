//! KIP-320 as in model/reference (variant kip-320) for Stateright: the same variables, packed, and the same atomic steps.
//!
//!     highwater-peer BROKERS LOG_LENGTH RECORDS LAST_EPOCH [THREADS] [--no-properties]
//!
//! Whatever is not in use is zero: no leader is 0 and broker b is b + 1, no epoch is 0 and epoch e is e + 1; unused slots are 0.

use stateright::{Checker, Model, Property};
use std::{env, process, time::Instant};

const RECORD_BITS: u32 = 8;
const ID_BITS: u32 = 4;
const LOG_MAX: u32 = u64::BITS / RECORD_BITS;
const RECORDS_MAX: u8 = 1 << ID_BITS;
const REQUEST_BITS: u32 = 8;
const LEADER_BITS: u32 = 3;
const EPOCHS_MAX: u8 = (u64::BITS / REQUEST_BITS) as u8;

/// A set of brokers, one bit each.
type Brokers = u8;

/// One broker's log and what it believes. A record is its epoch above its id; offset 0 is in the lowest bits of the log.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Replica {
    leader: u8,
    epoch: u8,
    high_watermark: u8,
    length: u8,
    isr: Brokers,
    log: u64,
}

impl Replica {
    fn record(&self, offset: u8) -> u64 {
        self.log >> (offset as u32 * RECORD_BITS) & ((1 << RECORD_BITS) - 1)
    }

    fn record_epoch(&self, offset: u8) -> u8 {
        (self.record(offset) >> ID_BITS) as u8
    }

    fn prefix(&self, length: u8) -> u64 {
        match length as u32 * RECORD_BITS {
            0 => 0,
            bits => self.log & (u64::MAX >> (u64::BITS - bits)),
        }
    }

    fn append(&mut self, record: u64) {
        self.log |= record << (self.length as u32 * RECORD_BITS);
        self.length += 1;
    }

    /// Whether all that the leader has from earlier epochs lies below its high watermark.
    fn high_watermark_is_in_own_epoch(&self) -> bool {
        self.high_watermark == self.length
            || (self.high_watermark < self.length
                && self.record_epoch(self.high_watermark) == self.epoch)
    }

    /// One past the last offset at which both logs hold the same record.
    fn end_of_match(&self, other: &Replica) -> u8 {
        let shorter = self.length.min(other.length);
        (0..shorter)
            .rev()
            .find(|&offset| self.record(offset) == other.record(offset))
            .map_or(0, |offset| offset + 1)
    }
}

/// The whole state. Requests are of `REQUEST_BITS` each, an ISR above a leader, the first request in the lowest bits.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Cluster<const BROKERS: usize> {
    leader: u8,
    isr: Brokers,
    next_record: u8,
    sent: u8,
    requests: u64,
    replicas: [Replica; BROKERS],
}

impl<const BROKERS: usize> Cluster<BROKERS> {
    fn request(&self, epoch: u8) -> (u8, Brokers) {
        let request = (self.requests >> (epoch as u32 * REQUEST_BITS)) as u8;
        (request & ((1 << LEADER_BITS) - 1), request >> LEADER_BITS)
    }

    fn announce(&mut self, leader: u8, isr: Brokers) {
        (self.leader, self.isr) = (leader, isr);
        self.requests |=
            u64::from(isr << LEADER_BITS | leader) << (self.sent as u32 * REQUEST_BITS);
        self.sent += 1;
    }

    fn set_isr(&mut self, leader: u8, isr: Brokers) {
        self.isr = isr;
        self.replicas[leader as usize].isr = isr;
    }

    fn presumes_leadership(&self, broker: u8) -> bool {
        self.replicas[broker as usize].leader == broker + 1
    }

    fn follows_in_same_epoch(&self, follower: u8, leader: u8) -> bool {
        let (theirs, ours) = (
            &self.replicas[follower as usize],
            &self.replicas[leader as usize],
        );
        self.presumes_leadership(leader)
            && theirs.leader == ours.leader
            && theirs.epoch == ours.epoch
    }

    fn is_true_leader(&self, broker: u8) -> bool {
        self.leader == broker + 1
            && self.presumes_leadership(broker)
            && self.replicas[broker as usize].epoch == self.sent
    }

    /// Whether every member holds what the leader, if it presumes to be one, holds below its high watermark.
    fn committed_is_held(&self, leader: u8, members: Brokers) -> bool {
        let ours = &self.replicas[leader as usize];
        let end = ours.high_watermark;
        !self.presumes_leadership(leader)
            || (0..BROKERS).all(|member| {
                let theirs = &self.replicas[member];
                members & 1 << member == 0
                    || (end <= ours.length
                        && end <= theirs.length
                        && ours.prefix(end) == theirs.prefix(end))
            })
    }
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Step {
    ElectLeader { leader: u8 },
    TakeFromIsr { broker: u8 },
    BecomeLeader { leader: u8, epoch: u8 },
    ExpandIsr { leader: u8, follower: u8 },
    ShrinkIsr { leader: u8, follower: u8 },
    Write { leader: u8 },
    AdvanceHighWatermark { leader: u8 },
    BecomeFollower { broker: u8, epoch: u8 },
    Fetch { follower: u8, leader: u8 },
}

struct Kip320<const BROKERS: usize> {
    log_length: u8,
    records: u8,
    epochs: u8,
    properties: bool,
}

impl<const BROKERS: usize> Kip320<BROKERS> {
    fn enabled(&self, cluster: &Cluster<BROKERS>, step: Step) -> bool {
        match step {
            Step::ElectLeader { leader } => {
                cluster.sent < self.epochs
                    && cluster.isr & 1 << leader != 0
                    && cluster.leader != leader + 1
            }
            Step::TakeFromIsr { broker } => {
                cluster.sent < self.epochs
                    && (cluster.leader == broker + 1 || cluster.isr & 1 << broker != 0)
            }
            Step::BecomeLeader { leader, epoch } => {
                epoch < cluster.sent
                    && cluster.replicas[leader as usize].epoch < epoch + 1
                    && cluster.request(epoch).0 == leader + 1
            }
            Step::ExpandIsr { leader, follower } => {
                let replica = &cluster.replicas[leader as usize];
                leader != follower
                    && cluster.is_true_leader(leader)
                    && replica.isr & 1 << follower == 0
                    && cluster.follows_in_same_epoch(follower, leader)
                    && replica.high_watermark <= cluster.replicas[follower as usize].length
                    && replica.high_watermark_is_in_own_epoch()
            }
            Step::ShrinkIsr { leader, follower } => {
                let replica = &cluster.replicas[leader as usize];
                leader != follower
                    && cluster.is_true_leader(leader)
                    && replica.isr & 1 << follower != 0
                    && !(cluster.follows_in_same_epoch(follower, leader)
                        && cluster.replicas[follower as usize].length >= replica.length)
            }
            Step::Write { leader } => {
                cluster.presumes_leadership(leader)
                    && cluster.next_record < self.records
                    && cluster.replicas[leader as usize].length < self.log_length
            }
            Step::AdvanceHighWatermark { leader } => {
                let replica = &cluster.replicas[leader as usize];
                cluster.presumes_leadership(leader)
                    && replica.high_watermark < replica.length
                    && (0..BROKERS as u8).all(|member| {
                        replica.isr & 1 << member == 0
                            || (cluster.follows_in_same_epoch(member, leader)
                                && replica.high_watermark
                                    < cluster.replicas[member as usize].length)
                    })
            }
            Step::BecomeFollower { broker, epoch } => {
                let (leader, _) = cluster.request(epoch);
                epoch < cluster.sent
                    && cluster.replicas[broker as usize].epoch < epoch + 1
                    && leader != 0
                    && leader != broker + 1
                    && cluster.presumes_leadership(leader - 1)
                    && cluster.replicas[leader as usize - 1].epoch == epoch + 1
            }
            Step::Fetch { follower, leader } => {
                follower != leader
                    && cluster.follows_in_same_epoch(follower, leader)
                    && cluster.replicas[follower as usize].length
                        < cluster.replicas[leader as usize].length
            }
        }
    }
}

impl<const BROKERS: usize> Model for Kip320<BROKERS> {
    type State = Cluster<BROKERS>;
    type Action = Step;

    fn init_states(&self) -> Vec<Self::State> {
        let replica = Replica {
            leader: 0,
            epoch: 0,
            high_watermark: 0,
            length: 0,
            isr: 0,
            log: 0,
        };
        let isr = (1 << BROKERS) - 1;
        vec![Cluster {
            leader: 0,
            isr,
            next_record: 0,
            sent: 0,
            requests: 0,
            replicas: [replica; BROKERS],
        }]
    }

    fn actions(&self, cluster: &Self::State, steps: &mut Vec<Self::Action>) {
        let mut add = |step| {
            if self.enabled(cluster, step) {
                steps.push(step);
            }
        };
        for broker in 0..BROKERS as u8 {
            add(Step::ElectLeader { leader: broker });
            add(Step::TakeFromIsr { broker });
            add(Step::Write { leader: broker });
            add(Step::AdvanceHighWatermark { leader: broker });
            for epoch in 0..self.epochs {
                add(Step::BecomeLeader {
                    leader: broker,
                    epoch,
                });
                add(Step::BecomeFollower { broker, epoch });
            }
            for other in 0..BROKERS as u8 {
                add(Step::ExpandIsr {
                    leader: broker,
                    follower: other,
                });
                add(Step::ShrinkIsr {
                    leader: broker,
                    follower: other,
                });
                add(Step::Fetch {
                    follower: broker,
                    leader: other,
                });
            }
        }
    }

    fn next_state(&self, before: &Self::State, step: Self::Action) -> Option<Self::State> {
        let mut cluster = *before;
        match step {
            Step::ElectLeader { leader } => cluster.announce(leader + 1, before.isr),
            Step::TakeFromIsr { broker } => {
                let rest = before.isr & !(1 << broker);
                match before.leader == broker + 1 {
                    true => cluster.announce(
                        0,
                        if before.isr == 1 << broker {
                            before.isr
                        } else {
                            rest
                        },
                    ),
                    false => cluster.announce(before.leader, rest),
                }
            }
            Step::BecomeLeader { leader, epoch } => {
                let replica = &mut cluster.replicas[leader as usize];
                (replica.leader, replica.isr) = before.request(epoch);
                replica.epoch = epoch + 1;
            }
            Step::ExpandIsr { leader, follower } => {
                cluster.set_isr(leader, before.replicas[leader as usize].isr | 1 << follower);
            }
            Step::ShrinkIsr { leader, follower } => {
                cluster.set_isr(
                    leader,
                    before.replicas[leader as usize].isr & !(1 << follower),
                );
            }
            Step::Write { leader } => {
                let replica = &mut cluster.replicas[leader as usize];
                replica.append(u64::from(replica.epoch << ID_BITS | before.next_record));
                cluster.next_record += 1;
            }
            Step::AdvanceHighWatermark { leader } => {
                cluster.replicas[leader as usize].high_watermark += 1
            }
            Step::BecomeFollower { broker, epoch } => {
                let (leader, isr) = before.request(epoch);
                let replica = &mut cluster.replicas[broker as usize];
                let end = replica.end_of_match(&before.replicas[leader as usize - 1]);
                *replica = Replica {
                    leader,
                    epoch: epoch + 1,
                    high_watermark: replica.high_watermark.min(end),
                    length: end,
                    isr,
                    log: replica.prefix(end),
                };
            }
            Step::Fetch { follower, leader } => {
                let source = &before.replicas[leader as usize];
                let replica = &mut cluster.replicas[follower as usize];
                replica.append(source.record(replica.length));
                replica.high_watermark = source.high_watermark.min(replica.length);
            }
        }
        Some(cluster)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        if !self.properties {
            // Without any property Stateright looks at no successors at all.
            return vec![Property::always("nothing", |_, _| true)];
        }
        vec![
            Property::always("weak_isr", |_, cluster: &Cluster<BROKERS>| {
                (0..BROKERS).all(|leader| {
                    cluster.committed_is_held(leader as u8, cluster.replicas[leader].isr)
                })
            }),
            Property::always("strong_isr", |_, cluster: &Cluster<BROKERS>| {
                (0..BROKERS).all(|leader| cluster.committed_is_held(leader as u8, cluster.isr))
            }),
        ]
    }
}

fn check<const BROKERS: usize>(model: Kip320<BROKERS>, threads: usize) {
    let started = Instant::now();
    let checker = model.checker().threads(threads).spawn_bfs().join();
    let seconds = started.elapsed().as_secs_f64();
    let violated: Vec<_> = checker.discoveries().into_keys().collect();
    println!("unique states: {}", checker.unique_state_count());
    println!("generated states: {}", checker.state_count());
    println!("depth: {}", checker.max_depth() - 1);
    println!("seconds: {seconds:.3}");
    println!(
        "violated: {}",
        if violated.is_empty() {
            "nothing".to_string()
        } else {
            violated.join(", ")
        }
    );
    process::exit(i32::from(!violated.is_empty()));
}

fn usage(problem: &str) -> ! {
    eprintln!("{problem}\nusage: highwater-peer BROKERS LOG_LENGTH RECORDS LAST_EPOCH [THREADS] [--no-properties]");
    process::exit(2);
}

fn main() {
    let (flags, numbers): (Vec<_>, Vec<_>) = env::args()
        .skip(1)
        .partition(|argument| argument.starts_with("--"));
    if flags.iter().any(|flag| flag != "--no-properties") || !(4..=5).contains(&numbers.len()) {
        usage("four bounds are needed");
    }
    let numbers: Vec<u8> = numbers
        .iter()
        .map(|text| text.parse().unwrap_or_else(|_| usage("not a small number")))
        .collect();
    let (log_length, records, epochs) = (numbers[1], numbers[2], numbers[3].saturating_add(1));
    let threads = numbers.get(4).map_or(1, |&threads| threads as usize);
    if log_length == 0
        || u32::from(log_length) > LOG_MAX
        || records == 0
        || records > RECORDS_MAX
        || epochs > EPOCHS_MAX
        || threads == 0
    {
        usage(&format!(
            "at most {LOG_MAX} records in a log, {RECORDS_MAX} records, last epoch {}",
            EPOCHS_MAX - 1
        ));
    }
    let properties = flags.is_empty();
    match numbers[0] {
        1 => check(
            Kip320::<1> {
                log_length,
                records,
                epochs,
                properties,
            },
            threads,
        ),
        2 => check(
            Kip320::<2> {
                log_length,
                records,
                epochs,
                properties,
            },
            threads,
        ),
        3 => check(
            Kip320::<3> {
                log_length,
                records,
                epochs,
                properties,
            },
            threads,
        ),
        4 => check(
            Kip320::<4> {
                log_length,
                records,
                epochs,
                properties,
            },
            threads,
        ),
        5 => check(
            Kip320::<5> {
                log_length,
                records,
                epochs,
                properties,
            },
            threads,
        ),
        _ => usage("1 to 5 brokers"),
    }
}
