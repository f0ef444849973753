import JSONReading
import Vocabulary

/// Checks that parameters have the shapes that the gateway accepts (openclaw.md#others). Members
/// not listed there pass: newer gateways and phones may know more.
enum ScheduleParameters {
    static let answerLimit = 900_000

    private enum Shape {
        case text, flag, object
        case number(ClosedRange<Int>)
        case word([StaticString])

        func takes(_ node: FrameNode) -> Bool {
            switch self {
            case .text: node.string?.isEmpty == false
            case .flag: node.flag != nil
            case .object: node.isObject
            case .number(let range): node.integer(in: range) != nil
            case .word(let words): words.contains { node.holds($0) }
            }
        }

        var words: String {
            switch self {
            case .text: "a text"
            case .flag: "true or false"
            case .object: "an object"
            case .number(let range) where range.upperBound > 1_000_000: "a whole number from \(range.lowerBound)"
            case .number(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
            case .word(let words): words.map { "\($0)" }.joined(separator: ", ")
            }
        }
    }

    private static let count = Shape.number(0...(1 << 40))
    private static let page = Shape.number(1...200)

    /// The fault in words for the person, or nil.
    static func fault(in parameters: FrameNode?, for verb: ScheduleVerb) -> String? {
        guard let parameters, parameters.isObject else { return "params must be an object" }
        if let fault = reach(of: parameters, depth: 0) { return fault }
        switch verb {
        case .status: return nil
        case .list:
            return optional(
                parameters, "", [("includeDisabled", .flag), ("limit", page), ("offset", count), ("query", .text)])
        case .runs:
            return optional(parameters, "", [("id", .text), ("jobId", .text), ("runId", .text), ("limit", page)])
        case .add:
            return required(parameters, "", [("name", .text), ("schedule", .object), ("sessionTarget", .text)])
                ?? required(
                    parameters, "", [("wakeMode", .word(["next-heartbeat", "now"])), ("payload", .object)])
                ?? job(parameters, "")
        case .update:
            return nameless(parameters) ?? required(parameters, "", [("patch", .object)])
                ?? parameters["patch"].flatMap { job($0, "patch.") }
        case .remove: return nameless(parameters)
        case .run: return nameless(parameters) ?? optional(parameters, "", [("mode", .word(["due", "force"]))])
        }
    }

    /// Refuses routines that act without a card: programs that run without the agent's approvals, and
    /// addresses that reports are posted to. The gateway trims words and ignores their case
    /// (`delivery.mode.trim().toLowerCase()`), and reads an object under `data` or `job` as the whole
    /// routine. A repeated member is refused, since the gateway may read the other copy.
    private static func reach(of node: FrameNode, depth: Int) -> String? {
        guard depth < depthLimit else { return "params are nested too deeply" }
        if node.isArray { return node.elements.lazy.compactMap { reach(of: $0, depth: depth + 1) }.first }
        guard node.isObject else { return nil }
        let names = node.names(atMost: memberLimit + 1)
        guard names.count <= memberLimit, Set(names).count == names.count else {
            return "params have a member twice, or too many"
        }
        for name in names {
            let word = normal(name)
            guard !refused.contains(word), !refusedParts.contains(where: { word.contains($0) }) else {
                return unapproved("a routine with \(name)")
            }
            guard let member = node.member(name), member.compact.text != "null" else { continue }
            if !isAllowed(member, as: word, depth: depth) {
                return unapproved(
                    "a routine whose \(name) is \(member.string.map { "\u{201C}\($0)\u{201D}" } ?? "no text")")
            }
            if let fault = reach(of: member, depth: depth + 1) { return fault }
        }
        return nil
    }

    private static func isAllowed(_ member: FrameNode, as name: String, depth: Int) -> Bool {
        switch name {
        case "mode" where depth > 0: member.string.map { allowedModes.contains(normal($0)) } ?? false
        // The outermost mode is that of `cron.run`, which has its own shape.
        case "kind", "type", "mode": member.string.map { !refusedWords.contains(normal($0)) } ?? false
        case "to": member.string.map { !isAddress(normal($0)) } ?? member.isNumber
        default: true
        }
    }

    private static func unapproved(_ what: String) -> String {
        "\(what) is not set from the phone: it would run without approval, or post elsewhere"
    }

    /// The word after JavaScript's `trim` and `toLowerCase`, except for letters that these words never contain.
    private static func normal(_ word: String) -> String {
        let scalars = word.unicodeScalars
        func isSpace(_ scalar: Unicode.Scalar) -> Bool { scalar.properties.isWhitespace || scalar.value == 0xFEFF }
        guard let first = scalars.firstIndex(where: { !isSpace($0) }),
            let last = scalars.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(scalars[first...last]).lowercased()
    }

    private static func isAddress(_ target: String) -> Bool {
        target.contains("//") || ["http:", "https:", "webhook:"].contains { target.hasPrefix($0) }
    }

    private static let depthLimit = 16
    private static let memberLimit = 100
    private static let refused: Set = [
        "command", "commands", "argv", "script", "shell", "exec", "hook", "hooks", "url", "data", "job",
    ]
    private static let refusedParts = ["webhook", "onexit", "on_exit", "on-exit"]
    private static let refusedWords: Set = ["command", "on-exit", "webhook", "script", "exec", "shell"]
    private static let allowedModes: Set = ["none", "announce"]

    private static func nameless(_ parameters: FrameNode) -> String? {
        let name = parameters["id"] ?? parameters["jobId"]
        return name.map { Shape.text.takes($0) } == true ? nil : "id must be a text: which routine is meant?"
    }

    private static func job(_ job: FrameNode, _ path: String) -> String? {
        optional(
            job, path,
            [("name", .text), ("enabled", .flag), ("sessionTarget", .text), ("deleteAfterRun", .flag)])
            ?? optional(
                job, path, [("schedule", .object), ("payload", .object), ("delivery", .object), ("agentId", .text)])
            ?? target(job["sessionTarget"], "\(path)sessionTarget")
            ?? job["schedule"].flatMap { schedule($0, "\(path)schedule.") }
            ?? job["payload"].flatMap { payload($0, "\(path)payload.") }
    }

    private static func target(_ node: FrameNode?, _ path: String) -> String? {
        guard let target = node?.string else { return nil }
        let isKnown = ["main", "isolated", "current"].contains(target) || target.hasPrefix("session:")
        return isKnown ? nil : "\(path) must be main, isolated, current or session:<name>"
    }

    private static func schedule(_ schedule: FrameNode, _ path: String) -> String? {
        let kinds = Shape.word(["at", "every", "cron"])
        if let fault = required(schedule, path, [("kind", kinds)]) { return fault }
        switch schedule["kind"]?.string {
        case "at":
            let isMoment = schedule["at"].map { Shape.text.takes($0) || count.takes($0) } ?? false
            return isMoment ? nil : "\(path)at must be a time, such as 2026-03-01T08:00:00Z"
        case "every": return required(schedule, path, [("everyMs", .number(1...(1 << 40)))])
        case "cron": return required(schedule, path, [("expr", .text)]) ?? optional(schedule, path, [("tz", .text)])
        default: return nil
        }
    }

    private static func payload(_ payload: FrameNode, _ path: String) -> String? {
        let kinds = Shape.word(["systemEvent", "agentTurn"])
        if let fault = required(payload, path, [("kind", kinds)]) { return fault }
        switch payload["kind"]?.string {
        case "systemEvent": return required(payload, path, [("text", .text)])
        case "agentTurn":
            return required(payload, path, [("message", .text)]) ?? optional(payload, path, [("model", .text)])
        default: return nil
        }
    }

    private static func required(_ node: FrameNode, _ path: String, _ members: [(StaticString, Shape)]) -> String? {
        for (name, shape) in members where node[name].map({ shape.takes($0) }) != true {
            return "\(path)\(name) must be \(shape.words)"
        }
        return nil
    }

    private static func optional(_ node: FrameNode, _ path: String, _ members: [(StaticString, Shape)]) -> String? {
        for (name, shape) in members {
            guard let member = node[name], member.compact.text != "null" else { continue }
            if !shape.takes(member) { return "\(path)\(name) must be \(shape.words)" }
        }
        return nil
    }
}
