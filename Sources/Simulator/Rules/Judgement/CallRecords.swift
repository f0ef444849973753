/// Findings about the bridge's calls: breaches, warnings, counts, and the last calls for watchers.
///
/// Invariants: breaches and the call log are bounded; a warning is listed once for each code and method, and
/// `lastWarning` rises with each change; the subject of the judged call is gone once the call is answered.
struct CallRecords: Sendable {
    private(set) var breaches: [Breach] = []
    /// One for each code and method.
    private(set) var warnings: [Warning] = []
    private(set) var lastWarning: UInt64 = 0
    private(set) var tally = Tally()
    private(set) var log: RecentCalls
    /// Subject of the call under judgement.
    private var subject = CallSubject()
    private let breachLimit: Int

    init(breachLimit: Int, callLimit: Int) {
        self.breachLimit = breachLimit
        log = RecentCalls(limit: callLimit)
    }

    mutating func note(_ breach: Breach) {
        guard breaches.count < breachLimit else { return }
        var breach = breach
        // Paths and quotations of a body can be long.
        breach.method = breach.method.cut(to: 64)
        breach.sentence = breach.sentence.cut(to: 1_024)
        breaches.append(breach)
    }

    mutating func warn(_ code: WarningCode, method: String, request: String, at now: Moment) {
        lastWarning += 1
        guard let index = warnings.firstIndex(where: { $0.code == code && $0.method == method }) else {
            return warnings.append(
                Warning(code: code, method: method, count: 1, request: request, at: now, number: lastWarning))
        }
        warnings[index].count += 1
        (warnings[index].request, warnings[index].at, warnings[index].number) = (request, now, lastWarning)
    }

    // MARK: Counts

    mutating func called(_ method: String) { tally.calls[method, default: 0] += 1 }
    mutating func took(_ bucket: String) { tally.tokensTaken[bucket, default: 0] += 1 }
    mutating func refused(_ code: String) { tally.refusals[code, default: 0] += 1 }
    mutating func replayed() { tally.replays += 1 }
    mutating func struck(_ times: Int = 1) { tally.faults += times }

    // MARK: The call that is being judged

    var isWatched: Bool { log.limit > 0 }

    mutating func note(_ subject: CallSubject) { self.subject = subject }

    mutating func takeSubject() -> CallSubject {
        defer { subject = CallSubject() }
        return subject
    }

    mutating func add(_ call: BridgeCall) { log.add(call) }
}

// A part of a relay's state.
extension CallRecords {
    func write(to state: inout JSONWriter) {
        state.array("breaches") { list in for breach in breaches { list.objectElement(breach.write) } }
        state.array("warnings") { list in for warning in warnings { list.objectElement(warning.write) } }
        state.object("tally", tally.write)
    }

    mutating func restore(_ state: StateReader) throws(StateReader.Fault) {
        for reader in try state.list("breaches") { breaches.append(try Breach(reader)) }
        // States of versions before warnings have none.
        for reader in try state.has("warnings") ? state.list("warnings") : [] {
            lastWarning += 1
            warnings.append(try Warning(reader, number: lastWarning))
        }
        tally = try Tally(try state.object("tally"))
    }
}
