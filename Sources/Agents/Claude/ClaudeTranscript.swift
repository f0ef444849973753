import AgentKit
import JSONReading
import Vocabulary

/// Fate of a prompt, by its session's transcript (claude-code.md#transcript).
enum ClaudeFate: Hashable, Sendable {
    /// The prompt may be sent.
    case neverTaken
    case ended(RunEnd)
    case stopped(text: String?)
    /// The prompt has a row, and nothing of an answer: sent again under its name it runs once.
    case unbegun
    /// The answer continues if its process lives; otherwise it is broken off.
    case unfinished(text: String?)
    /// The process speaks in place of the model.
    case failed(message: String, text: String?)
}

/// Rows of a session's file. The last one may be cut, and many kinds are of no interest: unreadable rows are skipped.
///
/// A prompt's answer hangs below its row, except what hangs below a later prompt: two processes on one session fork the file, and
/// an orphan's last words hang beside the rows of its successor.
struct ClaudeTranscript {
    private enum Kind {
        case prompt(merged: [String], isOurs: Bool)
        case words(message: String, String, stop: String?)
        case call(String, label: String)
        case thought
        case result(call: String, text: String)
        case stopMark
        case continuation
        /// The output of a command of the program, without a model.
        case printed
        case failure(String)
        case other
    }

    private struct Row {
        var uuid: String
        var parent: String?
        /// Id of a message that was folded into a running turn.
        var source: String?
        var kind: Kind
    }

    private static let ends: Set = ["end_turn", "max_tokens", "refusal", "stop_sequence"]
    private static let closed = "Tool permission request failed: AbortError: "
    private static let rowLimit = 1_000_000
    private static let refusalLimit = 20

    private var rows: [Row] = []

    init(_ bytes: [UInt8]) {
        let parser = FrameParser()
        bytes.withUnsafeBytes { file in
            for line in file.split(separator: 0x0A) where rows.count < Self.rowLimit {
                let frame = UnsafeRawBufferPointer(rebasing: line)
                guard let root = parser.parse(frame, capacity: file.count - line.startIndex), root.isObject,
                    let row = Self.row(root)
                else { continue }
                rows.append(row)
            }
        }
    }

    // MARK: One row

    private static func row(_ root: FrameNode) -> Row? {
        guard root["isSidechain"]?.flag != true, let uuid = root["uuid"]?.string else { return nil }
        // Behind a compaction another member links the rows.
        let parent = root["parentUuid"]?.string ?? root["logicalParentUuid"]?.string
        var row = Row(uuid: uuid, parent: parent, kind: .other)
        switch root["type"]?.string {
        case "user": row.kind = user(root)
        case "assistant": row.kind = assistant(root)
        case "attachment":
            let attachment = root["attachment"]
            row.source = attachment?["source_uuid"]?.string ?? attachment?["queued_command"]?["source_uuid"]?.string
        default: break
        }
        return row
    }

    private static func user(_ root: FrameNode) -> Kind {
        let content = root["message"]?["content"]
        let text = content?.contentText ?? ""
        if let result = content?.elements.first(where: { $0["type"]?.holds("tool_result") == true }) {
            return .result(call: result["tool_use_id"]?.string ?? "", text: result["content"]?.contentText ?? "")
        }
        if text.hasPrefix("[Request interrupted by user") { return .stopMark }
        let source = root["promptSource"]?.string
        if root["isMeta"]?.flag == true {
            // A schedule that fired is a prompt as well.
            guard root["wakeupSource"] == nil, root["turnOrigin"] == nil else {
                return .prompt(merged: [], isOurs: false)
            }
            return text.hasPrefix("Your response above was cut off") || text.hasPrefix("Output token limit hit")
                ? .continuation : .other
        }
        if text.hasPrefix("<local-command-") { return .printed }
        if root["isCompactSummary"]?.flag == true { return .other }
        let merged = (root["mergedSendUuids"]?.elements ?? []).prefix(1_000).compactMap(\.string)
        return .prompt(merged: merged, isOurs: source == nil || source == "sdk")
    }

    private static func assistant(_ root: FrameNode) -> Kind {
        let message = root["message"]
        let text = message?["content"]?.contentText ?? ""
        if root["isApiErrorMessage"]?.flag == true { return .failure(text) }
        if message?["model"]?.holds("<synthetic>") == true { return .other }
        guard let block = message?["content"]?.elements.first else { return .other }
        switch block["type"]?.string {
        case "text":
            return .words(message: message?["id"]?.string ?? "", text, stop: message?["stop_reason"]?.string)
        case "tool_use":
            let label = ToolLabel.make(name: block["name"]?.string ?? "tool", arguments: block["input"])
            return .call(block["id"]?.string ?? "", label: label)
        default: return .thought
        }
    }

    // MARK: One prompt

    func fate(of uuid: String) -> ClaudeFate {
        guard let start = rows.firstIndex(where: { begins($0, uuid) }) else { return .neverTaken }
        var answer = Answer()
        for row in below(start) { answer.take(row.kind) }
        return answer.fate
    }

    private func begins(_ row: Row, _ uuid: String) -> Bool {
        if row.uuid == uuid || row.source == uuid { return true }
        if case .prompt(let merged, _) = row.kind { return merged.contains(uuid) }
        return false
    }

    /// Rows below this one, in the order of the file: a parent stands before its children.
    private func below(_ start: Int) -> [Row] {
        var known: Set = [rows[start].uuid]
        var found: [Row] = []
        for row in rows[(start + 1)...] {
            guard let parent = row.parent, known.contains(parent) else { continue }
            if case .prompt = row.kind { continue }
            known.insert(row.uuid)
            found.append(row)
        }
        return found
    }

    private struct Answer {
        private enum End { case none, ended(RunEnd.Reason), stopped, failed(String) }

        private var segments: [String] = []
        private var message: String?
        private var continues = false
        private var end = End.none
        private var hasBegun = false

        private var text: String? { segments.isEmpty ? nil : segments.joined(separator: "\n\n") }

        mutating func take(_ kind: Kind) {
            switch kind {
            case .words, .call, .result, .thought: hasBegun = true
            case .stopMark, .continuation, .printed, .failure, .prompt, .other: break
            }
            switch kind {
            case .words(let id, let words, let stop):
                append(words, of: id)
                end = stop.flatMap { ClaudeTranscript.ends.contains($0) ? End.ended(Self.reason($0)) : nil } ?? .none
            case .call, .result:
                message = nil
                end = .none
            case .thought: message = nil
            case .stopMark: end = .stopped
            case .continuation:
                continues = true
                end = .none
            case .failure(let words): end = .failed(words)
            case .printed: end = .ended(.stop)
            case .prompt, .other: break
            }
        }

        private mutating func append(_ words: String, of id: String) {
            if continues || message == id, let last = segments.indices.last {
                segments[last] += words
            } else if !words.isEmpty {
                segments.append(words)
            }
            (message, continues) = (id, false)
        }

        private static func reason(_ stop: String) -> RunEnd.Reason {
            switch stop {
            case "max_tokens": .length
            case "refusal": .contentFilter
            default: .stop
            }
        }

        var fate: ClaudeFate {
            switch end {
            case .none: hasBegun ? .unfinished(text: text) : .unbegun
            case .ended(let reason): .ended(RunEnd(text: text, reason: reason))
            case .stopped: .stopped(text: text)
            case .failed(let message): .failed(message: message, text: text)
            }
        }
    }

    // MARK: Without a bridge

    /// Calls since our last prompt that were refused because no bridge could ask a person. The model takes them for failed.
    var refusedWhileAway: [String] {
        var labels: [String: String] = [:]
        var refused: [String] = []
        for row in rows {
            switch row.kind {
            case .prompt(_, isOurs: true): refused = []
            case .call(let id, let label): labels[id] = label
            case .result(let id, let text):
                guard text.hasPrefix(Self.closed),
                    text.hasSuffix("before response received") || text.hasSuffix("Stream closed")
                else { continue }
                if refused.count < Self.refusalLimit { refused.append(labels[id] ?? "a tool") }
            default: break
            }
        }
        return refused
    }
}
