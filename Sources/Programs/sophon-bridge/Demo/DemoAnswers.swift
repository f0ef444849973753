import FoundationEssentials
import Locking

/// The bridge's answers to the phone in the demo: models that exist nowhere else, and routines that last as long as the demo.
///
/// A routine has no clock here: "Run now" plays the next recorded run, in a chat of its own.
final class DemoAnswers: Sendable {
    private struct State {
        var jobs: [Job] = []
        var count = 0
    }

    private struct Schedule: Codable {
        var kind: String
        var at: String?
        var everyMs: Int64?
        var expr: String?
        var tz: String?

        /// Nil if the schedule is valid.
        var fault: String? {
            switch kind {
            case "at": at?.isEmpty == false ? nil : "schedule.at must be a time"
            case "every": (everyMs ?? 0) > 0 ? nil : "schedule.everyMs must be more than 0"
            case "cron": expr?.isEmpty == false ? nil : "schedule.expr must be a text"
            default: "schedule.kind must be at, every or cron"
            }
        }
    }

    private struct Payload: Codable {
        var kind: String
        var message: String?
        var text: String?

        var words: String { message ?? text ?? "" }
    }

    private struct Job: Codable {
        var id: String
        var name: String
        var enabled: Bool
        var schedule: Schedule
        var payload: Payload
    }

    private struct Question: Decodable {
        struct Parameters: Decodable {
            var id: String?
            var name: String?
            var enabled: Bool?
            var schedule: Schedule?
            var payload: Payload?
            var patch: Patch?
        }

        struct Patch: Decodable {
            var name: String?
            var enabled: Bool?
            var schedule: Schedule?
            var payload: Payload?
        }

        var params: Parameters?
    }

    private struct Answer<Result: Encodable>: Encodable { var result: Result }

    private struct Refused: Error { var message: String }

    private static let models = #"""
        {"models":[{"id":"demo/quick","name":"Quick","provider":"demo"},{"id":"demo/thorough","name":"Thorough","provider":"demo"}]}
        """#
    private static let limit = 100

    private let state = Locked(State())
    private let start: @Sendable (String) -> Void

    /// `start` begins a run with the routine's words.
    init(start: @escaping @Sendable (String) -> Void) { self.start = start }

    /// Members of the answer to a request of this type, as a JSON object.
    func answer(_ type: String, _ fields: [UInt8]) -> String {
        if type == "models.list.req" { return Self.models }
        guard type.hasPrefix("cron."), type.hasSuffix(".req") else {
            return Self.failure("not_found", "The recorded runs left no files.")
        }
        let verb = String(type.dropFirst(5).dropLast(4))
        do {
            let question = try JSONDecoder().decode(Question.self, from: Data(fields))
            return try routine(verb, question.params)
        } catch let refused as Refused {
            return Self.failure("cron_\(verb)_failed", refused.message)
        } catch {
            return Self.failure("cron_\(verb)_failed", "The parameters are not as they must be.")
        }
    }

    private func routine(_ verb: String, _ given: Question.Parameters?) throws -> String {
        switch verb {
        case "list":
            struct Jobs: Encodable { var jobs: [Job] }
            return try Self.text(Jobs(jobs: state.withLock { $0.jobs }))
        case "add": return try Self.text(try add(given))
        case "update": return try Self.text(try update(given))
        case "remove":
            struct Removed: Encodable { var removed: Bool }
            let before = state.withLock { state in
                defer { state.jobs.removeAll { $0.id == given?.id } }
                return state.jobs
            }
            return try Self.text(Removed(removed: before.contains { $0.id == given?.id }))
        case "run":
            struct Ran: Encodable { var ran: Bool }
            guard let job = state.withLock({ $0.jobs.first { $0.id == given?.id } }) else { throw Self.unknown }
            start(job.payload.words)
            return try Self.text(Ran(ran: true))
        default: throw Refused(message: "The demo's routines have no clock and no history.")
        }
    }

    private static let unknown = Refused(message: "There is no such routine.")

    private func add(_ given: Question.Parameters?) throws -> Job {
        guard let schedule = given?.schedule, let payload = given?.payload else {
            throw Refused(message: "schedule and payload are missing")
        }
        return try state.withLock { state in
            state.count += 1
            let job = Job(
                id: "routine-\(state.count)", name: given?.name ?? "Routine", enabled: given?.enabled ?? true,
                schedule: schedule, payload: payload)
            guard state.jobs.count < Self.limit else { throw Refused(message: "There are \(Self.limit) already.") }
            state.jobs.append(try Self.checked(job))
            return job
        }
    }

    private func update(_ given: Question.Parameters?) throws -> Job {
        try state.withLock { state in
            guard let place = state.jobs.firstIndex(where: { $0.id == given?.id }) else { throw Self.unknown }
            var job = state.jobs[place]
            job.name = given?.patch?.name ?? job.name
            job.enabled = given?.patch?.enabled ?? job.enabled
            job.schedule = given?.patch?.schedule ?? job.schedule
            job.payload = given?.patch?.payload ?? job.payload
            state.jobs[place] = try Self.checked(job)
            return job
        }
    }

    private static func checked(_ job: Job) throws -> Job {
        if let fault = job.schedule.fault { throw Refused(message: fault) }
        guard !job.name.isEmpty, !job.payload.words.isEmpty else {
            throw Refused(message: "name and payload.message must be texts")
        }
        return job
    }

    private static func text(_ result: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(Answer(result: result)), as: UTF8.self)
    }

    private static func failure(_ code: String, _ message: String) -> String {
        #"{"error":{"code":"\#(code)","message":"\#(message)"}}"#
    }
}
