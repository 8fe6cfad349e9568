-- KIP-320 as in model/reference (variant kip-320): the same variables, and the same atomic steps.
--
-- Whatever is not in use is undefined: the leader and epoch that a broker does not know, the slots of a log beyond its
-- end, and requests that were not sent yet. Brokers are a scalarset, so that Rumur can use symmetry.

const
  BROKERS: 3;
  LOG_LENGTH: 2;
  RECORDS: 2;
  LAST_EPOCH: 2;

type
  Broker: scalarset(BROKERS);
  Brokers: array[Broker] of boolean;
  Epoch: 0..LAST_EPOCH;
  Place: 0..LOG_LENGTH - 1;
  Offset: 0..LOG_LENGTH;
  Entry: record id: 0..RECORDS - 1; epoch: Epoch; end;
  Replica: record
    leader: Broker;
    epoch: Epoch;
    high_watermark: Offset;
    length: Offset;
    isr: Brokers;
    log: array[Place] of Entry;
  end;
  Assignment: record leader: Broker; isr: Brokers; end;

var
  replica: array[Broker] of Replica;
  request: array[Epoch] of Assignment;
  quorum: Assignment;
  sent: 0..LAST_EPOCH + 1;
  next_record: 0..RECORDS;

function leads(assignment: Assignment; b: Broker): boolean;
begin
  return !isundefined(assignment.leader) & assignment.leader = b;
end;

function presumes(b: Broker): boolean;
begin
  return !isundefined(replica[b].leader) & replica[b].leader = b;
end;

function is_true_leader(b: Broker): boolean;
begin
  return leads(quorum, b) & presumes(b) & replica[b].epoch + 1 = sent;
end;

-- Whether a follower knows of a presumed leader in the epoch in which it leads.
function follows(follower: Broker; leader: Broker): boolean;
begin
  return !isundefined(replica[follower].leader) & replica[follower].leader = leader
    & replica[follower].epoch = replica[leader].epoch;
end;

function knows_earlier(b: Broker; e: Epoch): boolean;
begin
  return isundefined(replica[b].epoch) | replica[b].epoch < e;
end;

function equal_at(a: Broker; b: Broker; p: Place): boolean;
begin
  return replica[a].log[p].id = replica[b].log[p].id & replica[a].log[p].epoch = replica[b].log[p].epoch;
end;

function shorter(a: Offset; b: Offset): Offset;
begin
  return a < b ? a : b;
end;

procedure announce();
begin
  request[sent] := quorum;
  sent := sent + 1;
end;

startstate
begin
  for b: Broker do
    replica[b].high_watermark := 0;
    replica[b].length := 0;
    for other: Broker do
      replica[b].isr[other] := false;
    end;
    quorum.isr[b] := true;
  end;
  sent := 0;
  next_record := 0;
end;

ruleset b: Broker do
  rule "elect_leader"
    sent <= LAST_EPOCH & quorum.isr[b] & !leads(quorum, b)
  ==>
  begin
    quorum.leader := b;
    announce();
  end;

  rule "take_from_isr"
    sent <= LAST_EPOCH & (leads(quorum, b) | quorum.isr[b])
  ==>
  begin
    if !leads(quorum, b) then
      quorum.isr[b] := false;
    else
      undefine quorum.leader;
      if exists other: Broker do other != b & quorum.isr[other] end then
        quorum.isr[b] := false;
      end;
    end;
    announce();
  end;

  ruleset e: Epoch do
    rule "become_leader"
      e < sent & knows_earlier(b, e) & leads(request[e], b)
    ==>
    begin
      replica[b].leader := b;
      replica[b].epoch := e;
      replica[b].isr := request[e].isr;
    end;

    rule "become_follower"
      e < sent & knows_earlier(b, e) & !isundefined(request[e].leader) & !leads(request[e], b)
        & presumes(request[e].leader) & replica[request[e].leader].epoch = e
    ==>
      var last: Offset;
    begin
      last := shorter(replica[b].length, replica[request[e].leader].length);
      while last > 0 & !equal_at(b, request[e].leader, last - 1) do
        last := last - 1;
      end;
      for p: Place do
        if p >= last then
          undefine replica[b].log[p];
        end;
      end;
      replica[b].leader := request[e].leader;
      replica[b].epoch := e;
      replica[b].high_watermark := shorter(last, replica[b].high_watermark);
      replica[b].length := last;
      replica[b].isr := request[e].isr;
    end;
  end;

  rule "write"
    presumes(b) & next_record < RECORDS & replica[b].length < LOG_LENGTH
  ==>
  begin
    replica[b].log[replica[b].length].id := next_record;
    replica[b].log[replica[b].length].epoch := replica[b].epoch;
    replica[b].length := replica[b].length + 1;
    next_record := next_record + 1;
  end;

  rule "advance_high_watermark"
    presumes(b) & replica[b].high_watermark < replica[b].length
      & forall member: Broker do
        replica[b].isr[member] -> follows(member, b) & replica[member].length > replica[b].high_watermark
      end
  ==>
  begin
    replica[b].high_watermark := replica[b].high_watermark + 1;
  end;
end;

ruleset follower: Broker; leader: Broker do
  rule "expand_isr"
    follower != leader & is_true_leader(leader) & !replica[leader].isr[follower] & follows(follower, leader)
      & replica[leader].high_watermark <= replica[follower].length
      & (replica[leader].high_watermark = replica[leader].length
        | (replica[leader].high_watermark < replica[leader].length
          & replica[leader].log[replica[leader].high_watermark].epoch = replica[leader].epoch))
  ==>
  begin
    replica[leader].isr[follower] := true;
    quorum.isr := replica[leader].isr;
  end;

  rule "shrink_isr"
    follower != leader & is_true_leader(leader) & replica[leader].isr[follower]
      & !(follows(follower, leader) & replica[follower].length >= replica[leader].length)
  ==>
  begin
    replica[leader].isr[follower] := false;
    quorum.isr := replica[leader].isr;
  end;

  rule "fetch"
    follower != leader & presumes(leader) & follows(follower, leader)
      & replica[follower].length < replica[leader].length
  ==>
    var last: Offset;
  begin
    last := replica[follower].length;
    replica[follower].log[last] := replica[leader].log[last];
    replica[follower].length := last + 1;
    replica[follower].high_watermark := shorter(replica[leader].high_watermark, last + 1);
  end;
end;

-- What a presumed leader holds below its high watermark, every member of its own ISR (weak) or of the true one (strong)
-- holds, too.
invariant "weak_isr"
  forall leader: Broker do
    presumes(leader) -> forall member: Broker do
      replica[leader].isr[member] -> replica[leader].high_watermark <= replica[leader].length
        & replica[leader].high_watermark <= replica[member].length
        & forall p: Place do p < replica[leader].high_watermark -> equal_at(member, leader, p) end
    end
  end;

invariant "strong_isr"
  forall leader: Broker do
    presumes(leader) -> forall member: Broker do
      quorum.isr[member] -> replica[leader].high_watermark <= replica[leader].length
        & replica[leader].high_watermark <= replica[member].length
        & forall p: Place do p < replica[leader].high_watermark -> equal_at(member, leader, p) end
    end
  end;
