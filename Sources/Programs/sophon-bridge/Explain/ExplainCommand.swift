import BridgeService
import Commands
import Journal
import Vocabulary

/// `explain ID`: the life of a message, a turn, a call, an approval or a run.
struct ExplainCommand: Command {
    static let declaration = CommandDeclaration(
        name: "explain", summary: "the life of one message, turn, call, approval or run, from the journal",
        operands: "ID", options: [.config, .stateDirectory],
        examples: ["sophon-bridge explain int_4Xw2", "sophon-bridge explain msg_17 --json"])

    private let command: ParsedCommand
    private let output: Output

    init(_ command: ParsedCommand, _ output: Output) {
        self.command = command
        self.output = output
    }

    func run() throws {
        guard let id = command.operands.first, command.operands.count == 1 else {
            throw UsageError("explain needs one id", try: "sophon-bridge explain int_4Xw2")
        }
        let directory = try CommandConfiguration.load(command, output).configuration.stateDirectory
        let lives = try JournalReader(directory: directory).life(of: id)
        guard !lives.isEmpty else {
            throw CommandFailure(
                code: .unexpected,
                message:
                    "the journal in \(directory) knows nothing of \(id); what ended over 30 days ago is forgotten, "
                    + "and journal inspect lists what is there")
        }
        for life in lives { output.json ? tell(life) : show(life) }
    }

    // MARK: For people

    private func show(_ life: TurnLife) {
        let state: String
        if let closedAt = life.closedAt {
            state = "ended \(JournalTime.text(closedAt)): \(life.outcome ?? "no outcome")"
        } else {
            state = "open since \(JournalTime.text(life.keptAt))"
        }
        output.line("turn \(VisibleText.value(life.turn.text)) of connection \(life.connection), \(state)")
        // Stable sort: moments of the same millisecond keep their order.
        let moments = moments(of: life).enumerated().sorted { ($0.1.wall, $0.0) < ($1.1.wall, $1.0) }
        for (_, moment) in moments {
            output.line("  \(JournalTime.text(moment.wall))  \(VisibleText.value(moment.words))")
        }
        for call in life.calls where call.tries.isEmpty && !call.isDelivered {
            let what = life.closedAt == nil ? "has no answer yet" : "was given up: its answer was never read"
            output.line("  call \(VisibleText.value(call.key.text)) \(what)")
        }
        guard life.closedAt == nil else { return }
        let last = moments.map(\.1.wall).max() ?? life.keptAt
        let seconds = max(0, (SystemClock().wallMilliseconds - last) / 1_000)
        output.line("  still open; the journal has nothing since \(JournalTime.text(last)), \(seconds) s ago")
    }

    private func moments(of life: TurnLife) -> [(wall: Int64, words: String)] {
        var moments: [(wall: Int64, words: String)] = life.messages.map {
            ($0.receivedAt, "received and accepted message \($0.message) (update \($0.update), session \($0.session))")
        }
        moments += life.events.map { ($0.wall, $0.words) }
        for call in life.calls {
            if let keptAt = call.keptAt { moments.append((keptAt, "stored call \(call.key) to \(call.path ?? "")")) }
            moments += call.tries.map {
                let request = $0.request.map { ", request \($0)" } ?? ""
                return ($0.wall, "call \(call.key), try \($0.attempt): \($0.result), \($0.milliseconds) ms\(request)")
            }
        }
        moments += life.folds.map {
            let what =
                $0.kind == "text"
                ? "\(Counted.words($0.calls, "piece")) of text, \(Counted.words($0.bytes, "byte"))"
                : "\(Counted.words($0.calls, "update")) of cards"
            let retries = Counted.words($0.retries, "retry", plural: "retries")
            return ($0.lastAt, "sent \(what), \(retries), the last: \($0.lastResult)")
        }
        if let closedAt = life.closedAt { moments.append((closedAt, "ended: \(life.outcome ?? "no outcome")")) }
        return moments
    }

    // MARK: For programs

    private func tell(_ life: TurnLife) {
        let turn: [(String, JSONText)] = [("turn", .string(life.turn.text))]
        output.event(
            "turn",
            turn + [
                ("connection", .string(life.connection.text)), ("kept_at", .number(life.keptAt)),
                ("closed_at", .optional(life.closedAt)), ("outcome", .optional(life.outcome)),
            ])
        for message in life.messages {
            output.event(
                "turn_message",
                turn + [
                    ("message", .string(message.message.text)), ("update", .string(message.update.text)),
                    ("session", .string(message.session.text)), ("interaction", .optional(message.interaction?.text)),
                    ("received_at", .number(message.receivedAt)),
                ])
        }
        for event in life.events {
            output.event("turn_event", turn + [("words", .string(event.words)), ("happened_at", .number(event.wall))])
        }
        for fold in life.folds {
            output.event(
                "turn_fold",
                turn + [
                    ("kind", .string(fold.kind)), ("calls", .number(fold.calls)), ("bytes", .number(fold.bytes)),
                    ("retries", .number(fold.retries)), ("last_result", .string(fold.lastResult)),
                    ("first_at", .number(fold.firstAt)), ("last_at", .number(fold.lastAt)),
                ])
        }
        for call in life.calls {
            output.event(
                "turn_call",
                turn + [
                    ("key", .string(call.key.text)), ("name", call.name.map(JSONText.string) ?? .null),
                    ("path", .optional(call.path)), ("kept_at", .optional(call.keptAt)),
                    ("delivered", .flag(call.isDelivered)), ("tries", tries(of: call)),
                ])
        }
    }

    private func tries(of call: TurnLife.Call) -> JSONText {
        let objects = call.tries.map {
            var object = JSONObjectWriter()
            object.integer("attempt", $0.attempt)
            object.string("result", $0.result)
            object.value("delivered", .flag($0.isDelivered))
            object.string("request", $0.request?.text)
            object.integer("milliseconds", $0.milliseconds)
            object.integer("tried_at", Int($0.wall))
            return String(decoding: object.finish(), as: UTF8.self)
        }
        return JSONText(unchecked: "[\(objects.joined(separator: ","))]")
    }
}

extension JSONText {
    static let null = JSONText(unchecked: "null")
    static func optional(_ value: String?) -> JSONText { value.map(JSONText.string) ?? .null }
    static func optional(_ value: Int64?) -> JSONText { value.map(JSONText.number) ?? .null }
}
