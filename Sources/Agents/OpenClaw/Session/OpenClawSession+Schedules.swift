import AgentKit
import JSONReading
import Vocabulary

// Routines: the gateway's scheduler, asked for the phone (openclaw.md#others, `cron.*`).
extension OpenClawSession {
    /// Validates parameters before they are sent: the gateway's own validation errors are written for programmers.
    mutating func schedule(_ verb: String, _ parameters: JSONText, as query: QueryID, at now: Instant) {
        guard let verb = ScheduleVerb(rawValue: verb) else { return refuse(query, "OpenClaw has no cron.\(verb)") }
        let bytes = Array(parameters.text.utf8)
        let fault = bytes.withUnsafeBytes { buffer in
            ScheduleParameters.fault(in: parser.parse(buffer, capacity: buffer.count), for: verb)
        }
        if let fault { return refuse(query, fault) }
        ask(.schedule(query, verb), verb.method, bytes, at: now)
    }

    mutating func scheduleAnswered(_ query: QueryID, _ payload: FrameNode?, _ error: Refusal?) {
        if let error {
            guard error.missingScope == nil else { return refuse(query, words(of: error)) }
            orders.append(.replied(query, .refusedInItsWords(error.message)))
            return
        }
        guard let payload, payload.isObject else {
            return refuse(query, "the gateway sent no answer that can be shown")
        }
        let document = payload.compact
        guard document.text.utf8.count <= ScheduleParameters.answerLimit else {
            return refuse(query, "the gateway's answer is too long to be shown: ask for fewer")
        }
        orders.append(.replied(query, .document(document)))
    }
}

/// Scheduler methods that the relay may request, by the gateway's names.
enum ScheduleVerb: String, Hashable, Sendable {
    case list, status, add, update, remove, run, runs

    var method: StaticString {
        switch self {
        case .list: "cron.list"
        case .status: "cron.status"
        case .add: "cron.add"
        case .update: "cron.update"
        case .remove: "cron.remove"
        case .run: "cron.run"
        case .runs: "cron.runs"
        }
    }
}
