import BridgeCore
import Vocabulary
import Worlds

/// A relay on virtual time that judges every call, and the network in front of it.
///
/// `breaches` lists calls that a real relay would refuse through our fault.
struct VirtualRelay {
    var buckets: [RelayBucket: ExactBucket] = [:]
    /// One way, in microseconds.
    var latency: ClosedRange<Int64> = 1_000...4_000
    /// Replaces the answer to a call. `applied` tells whether the relay carried the call out.
    var fault: (CallAttempt, inout SeededGenerator) -> (answer: RelayAnswer, applied: Bool)? = { _, _ in nil }
    var sendsHeaders = true
    private(set) var breaches: [String] = []
    private(set) var rateLimited = 0
    private var bodies: [IdempotencyKey: RelayCall] = [:]
    private var answers: [IdempotencyKey: RelayAnswer.Outcome] = [:]
    private(set) var streamed: [MessageID: String] = [:]
    private(set) var ended: [MessageID: String] = [:]
    private(set) var finishedTasks: Set<TaskID> = []

    init() {
        for bucket in RelayBucket.allCases { buckets[bucket] = .ofSheet(bucket) }
    }

    mutating func answer(
        to attempt: CallAttempt, _ call: RelayCall, at now: Instant, using random: inout SeededGenerator
    ) -> RelayAnswer {
        let misfortune = fault(attempt, &random)
        if let misfortune, !misfortune.applied { return misfortune.answer }
        let bucket = Self.bucket(of: call)
        guard buckets[bucket]?.take(at: now) == true else {
            rateLimited += 1
            let refusal = RelayRefusal(status: 429, code: .rateLimited, retryAfter: .milliseconds(500))
            return RelayAnswer(.refused(refusal), rate: reading(of: bucket))
        }
        let outcome = apply(call)
        if let misfortune { return misfortune.answer }
        return RelayAnswer(outcome, rate: reading(of: bucket))
    }

    /// relay.md#buckets.
    private static func bucket(of call: RelayCall) -> RelayBucket {
        switch call.post {
        case .open, .message, .end: .msg
        case .text: .delta
        case .taskStarted, .taskProgress, .taskEnded: .task
        case .approval: .approval
        case nil: .default
        }
    }

    private func reading(of bucket: RelayBucket) -> RateReading? {
        guard sendsHeaders, let told = buckets[bucket]?.reading else { return nil }
        return RateReading(
            bucket: bucket, limit: told.limit, remaining: told.remaining, resetAfter: told.resetAfter)
    }

    private mutating func apply(_ call: RelayCall) -> RelayAnswer.Outcome {
        guard let key = call.key else { return .delivered(RelayReceipt()) }
        if let body = bodies[key] {
            if body != call {
                breaches.append("\(key) came with another body")
                return refused(409, .idempotencyConflict)
            }
            return answers[key] ?? refused(500, .internalError)
        }
        let outcome = judge(call, key)
        bodies[key] = call
        answers[key] = outcome
        return outcome
    }

    private mutating func judge(_ call: RelayCall, _ key: IdempotencyKey) -> RelayAnswer.Outcome {
        let id = MessageID("msg-\(key)")
        switch (call.address, call.post) {
        case (.chat, .open):
            streamed[id] = ""
            return .delivered(RelayReceipt(message: id))
        case (.chat, .message(let message)):
            ended[id] = message.text
            return .delivered(RelayReceipt(message: id))
        case (.bubble(let bubble), .text(let text)):
            guard streamed[bubble] != nil else { return breach("delta for no bubble", 404, .other("no_message")) }
            guard ended[bubble] == nil else { return breach("delta after the end", 409, .messageFinalized) }
            streamed[bubble]? += text
        case (.bubble(let bubble), .end(let end)):
            guard streamed[bubble] != nil else { return breach("end for no bubble", 404, .other("no_message")) }
            guard ended[bubble] == nil else { return breach("a second end", 409, .messageFinalized) }
            ended[bubble] = end.text
        case (.chat, .taskEnded(let end)):
            if !finishedTasks.insert(end.task).inserted { return breach("a task finished twice", 409, .other("")) }
        case (.chat, .taskStarted), (.chat, .taskProgress), (.chat, .approval): break
        default: return breach("a content at the wrong address", 400, .invalidRequest)
        }
        return .delivered(RelayReceipt())
    }

    private mutating func breach(_ sentence: String, _ status: Int, _ code: RelayErrorCode) -> RelayAnswer.Outcome {
        breaches.append(sentence)
        return refused(status, code)
    }

    private func refused(_ status: Int, _ code: RelayErrorCode) -> RelayAnswer.Outcome {
        .refused(RelayRefusal(status: status, code: code))
    }
}
