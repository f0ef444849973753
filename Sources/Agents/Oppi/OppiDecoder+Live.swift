import JSONReading
import Vocabulary

// Calls from the live link about the one session that it reads (oppi.md#envelope-and-sequence-numbers).
extension OppiDecoder {
    private var native: AgentSession? { live?.native }

    init(_ native: AgentSession, as session: AgentSession, runPrefix: String) {
        self.init(Live(native: native, session: session, runPrefix: runPrefix))
        sessions[native] = Session()
    }

    private mutating func change(_ change: (inout Session) -> Void) {
        if let native { change(&sessions[native, default: Session()]) }
    }

    private var state: Session? { native.flatMap { sessions[$0] } }

    /// The `seq` of the last durable frame.
    var lastSequence: Int { state?.lastSequence ?? 0 }
    /// A loop is running, according to its frames.
    var isRunning: Bool { state?.isRunning == true }
    var runningRun: RunID? { state.flatMap { $0.isRunning ? $0.run : nil } }
    /// Whether the run is between two attempts, where the session is idle and a stop has no effect.
    var isBetweenAttempts: Bool { state.map { $0.isRetrying || $0.held != nil } ?? false }
    func isCompacting(at now: Instant) -> Bool { state?.compactsUntil.map { now < $0 } ?? false }
    /// The loop has ended, and a retry may follow.
    var isHolding: Bool { heldEnd != nil }
    var heldEnd: RunEvent? { state?.held?.event }
    /// When the next attempt of a failed loop begins at the latest.
    var retryUntil: Instant? { state.flatMap { $0.isRetrying ? $0.retryUntil : nil } }
    var hasOpenTool: Bool { state?.calls.isEmpty == false }

    /// A prompt of ours is about to be sent under this request id.
    mutating func willBegin(_ run: RunID, _ text: String, waits: Bool, request: String) {
        remember(request, run)
        change { $0.prompted = Prompted(run: run, text: text, waits: waits) }
    }

    /// The server has this prompt, and its run may still begin. `text` is empty if an earlier process sent it.
    mutating func mayBegin(_ run: RunID, _ text: String) {
        guard runningRun != run else { return }
        change { $0.prompted = Prompted(run: run, text: text, waits: true) }
    }

    mutating func starts(_ run: RunID) {
        change { if $0.prompted?.run == run { $0.prompted?.isStarted = true } }
    }

    /// Drops a run that will not begin, or whose end is known from elsewhere.
    mutating func abandon(_ run: RunID) {
        change { session in
            if session.prompted?.run == run { session.prompted = nil }
            guard session.run == run else { return }
            session.isRunning = false
            session.isRetrying = false
            if session.held != nil { session.isOpening = false }
            session.held = nil
        }
    }

    /// A trace reports this run as running, with the messages written into it.
    mutating func takeUp(_ run: RunID, _ text: String, steered marks: [OppiMark]) {
        let prompted = Prompted(run: run, text: text)
        let isReadable = !text.isEmpty && !prompted.isCommand && !marks.contains(.command)
        change { session in
            session.ours =
                isReadable ? [prompted] + marks.map { Prompted(run: run, text: "", mark: $0) } : nil
            session.hasSpoken = true
            if session.prompted?.run == run { session.prompted = nil }
            session.run = run
            session.isOurs = true
            session.stopsForUs = false
            session.isRunning = true
            session.isOpening = false
            session.isRetrying = false
            session.held = nil
            session.lacksBeginning = true
        }
    }

    /// A message of ours is written into the run.
    mutating func steers(_ run: RunID, _ text: String) {
        let mark: OppiMark? = text.hasPrefix("/") ? .command : nil
        change { $0.steers(Prompted(run: run, text: text, mark: mark)) }
    }

    /// The server did not accept the message.
    mutating func steersNot(_ run: RunID) { change { $0.unheard.removeAll { $0.run == run } } }

    /// Messages written into a run that no loop has taken up.
    var unheard: [RunID] { state?.unheard.map(\.run) ?? [] }

    mutating func stops() { change { $0.stopsForUs = true } }

    /// The wait for the next attempt was cancelled: the attempt begins by `moment`, or not at all.
    mutating func retriesUntil(_ moment: Instant) {
        change { session in session.retryUntil = session.retryUntil.map { min($0, moment) } }
    }

    mutating func socketLost() {
        change { session in
            if session.isRunning { session.lacksBeginning = true }
            session.held?.socketLost()
        }
        live?.isReplay = false
    }

    /// Frames until the answer to our subscription are replays.
    mutating func replays(_ isReplay: Bool, at now: Instant) {
        live?.isReplay = isReplay
        guard !isReplay else { return }
        change { session in
            if session.isRunning { session.lacksBeginning = true }
            session.held?.socketBack(compactsUntil: session.compactsUntil, at: now)
        }
    }
    mutating func knows(_ messages: [String]) {
        live?.known = messages
        change { session in
            (session.said, session.lastSaid) = ("", "")
            for message in messages { session.remember(message) }
        }
    }
    mutating func setServerEpoch(_ epoch: Instant?) { live?.serverEpoch = epoch }
    mutating func setWorkspace(_ name: String?) { live?.workspace = name }

    /// Corrects a number that was too high: a replay may have carried one that the server never gave.
    mutating func isAt(atMost sequence: Int) { change { $0.lastSequence = min($0.lastSequence, sequence) } }

    /// Numbers continue from here, after frames that stay missed.
    mutating func continues(after sequence: Int) {
        change { session in
            session.lastSequence = sequence
            session.isOpening = false
            session.mayBeWithin = true
            // The next attempt may have begun while frames were missed.
            session.retryUntil = nil
            session.compactsUntil = nil
        }
    }
}
