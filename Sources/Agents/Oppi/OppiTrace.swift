import AgentKit
import JSONReading
import Vocabulary

/// The whole history of a session (oppi.md#shared-objects, TraceEvent): the source of answers whose frames are lost.
///
/// An assistant's message has an event for each of its blocks of text; they are joined as in `message_end`.
struct OppiTrace {
    /// The rows between one question and the next.
    struct Answer: Hashable {
        var texts: [String] = []
        /// The answer ends with words, not with a tool or nothing. They may be those of a failed or
        /// stopped message: the trace does not tell, the events beside it may (`OppiTold`).
        var isComplete = false
        /// The next question.
        var next: String?

        var text: String { texts.joined(separator: "\n\n") }
    }

    private let rows: [FrameNode]
    let status: String?

    /// Nil if the body is no trace.
    init?(_ body: FrameNode?) {
        guard let rows = body?["trace"]?.elements else { return nil }
        self.rows = rows
        status = body?["session"]?["status"]?.string
    }

    var isBusy: Bool { status == "busy" || status == "stopping" || status == "starting" }

    var isEmpty: Bool { rows.isEmpty }

    /// Whether a user's message has these words, written at any time.
    func holds(_ words: String) -> Bool {
        rows.contains { $0["type"]?.holds("user") == true && PromptText.isPrompt(Self.words(of: $0), words) }
    }

    var newestAnswer: Answer {
        answer(after: rows.lastIndex { $0["type"]?.holds("user") == true } ?? -1)
    }

    /// Difference between two clocks, one of which may have been read a moment before the other.
    private static let tolerance: Int64 = 5_000

    /// The answer to the question with this text that was written at `sentAt`: of several the first, or the newest if the
    /// time is unknown. Nil if the question is not there. Without its text, its time alone identifies it.
    ///
    /// - `twins`: times of earlier questions with the same text, each of which has a row of its own.
    /// - `across`: messages written into the question's run, within which its answer continues.
    func answer(
        to question: String, sentAt: Int64?, behind twins: [Int64?] = [], across marks: [OppiMark] = []
    ) -> Answer? {
        if question.trimmed.isEmpty { return sentAt.flatMap { answer(toAnyIn: $0...Int64.max, across: marks) } }
        var places = rows.indices.filter { index in
            rows[index]["type"]?.holds("user") == true
                && PromptText.isPrompt(Self.words(of: rows[index]), question)
        }[...]
        for twin in twins {
            if let at = places.firstIndex(where: { isAsked(at: $0, notBefore: twin) }) { places = places[(at + 1)...] }
        }
        let fitting = places.filter { isAsked(at: $0, notBefore: sentAt) }
        return (sentAt == nil ? fitting.last : fitting.first).map { answer(after: $0, across: marks) }
    }

    /// Words of a user's message. The server appends its pictures, each in a line of its own (oppi.md#shared-objects).
    private static func words(of row: FrameNode) -> Substring {
        var text = (row["text"]?.string ?? "")[...]
        while true {
            let last = text.lastIndex { $0.isNewline }
            let line = last.map { text[text.index(after: $0)...] } ?? text
            guard line.hasPrefix("data:"), line.prefix(200).contains(";base64,") else { return text }
            text = last.map { text[..<$0] } ?? ""
            if last == nil { return text }
        }
    }

    private func isAsked(at place: Int, notBefore sentAt: Int64?) -> Bool {
        guard let sentAt, let asked = rows[place]["timestamp"]?.string.flatMap(Self.milliseconds) else { return true }
        return asked >= sentAt - Self.tolerance
    }

    /// The answer to the first question of that time, whatever its words.
    func answer(toAnyIn time: ClosedRange<Int64>, across marks: [OppiMark] = []) -> Answer? {
        let place = rows.firstIndex { row in
            guard row["type"]?.holds("user") == true,
                let asked = row["timestamp"]?.string.flatMap(Self.milliseconds)
            else { return false }
            return time.contains(asked) || time.contains(asked + Self.tolerance)
        }
        return place.map { answer(after: $0, across: marks) }
    }

    private func answer(after place: Int, across marks: [OppiMark] = []) -> Answer {
        var answer = Answer()
        var entry: Substring?
        var marks = marks
        for row in rows[(place + 1)...] {
            switch row["type"]?.string {
            case "user":
                let words = Self.words(of: row)
                let known = marks.firstIndex { $0 != .command && $0.fits(words) } ?? marks.firstIndex(of: .command)
                guard let known else {
                    answer.next = String(words)
                    return answer
                }
                marks.remove(at: known)
                answer.isComplete = false
                entry = nil
            case "assistant":
                let text = row["text"]?.string ?? ""
                let id = row["id"]?.string ?? ""
                let own = id.firstRange(of: "-text-").map { id[..<$0.lowerBound] }
                if own != nil, own == entry, !answer.texts.isEmpty {
                    answer.texts[answer.texts.count - 1] += text
                } else if !text.isEmpty {
                    // Without a tool between them, the message before this one failed; the file keeps it.
                    if own != nil, entry != nil { answer.texts.removeLast() }
                    answer.texts.append(text)
                }
                entry = own
                answer.isComplete = !answer.texts.isEmpty
            case "toolCall", "toolResult":
                answer.isComplete = false
                entry = nil
            default: break
            }
        }
        return answer
    }

    /// Milliseconds since 1970 of a time such as `2026-02-20T15:00:00.000Z`, the form of every row, or nil for any other form.
    static func milliseconds(_ text: String) -> Int64? {
        let parts = text.split(whereSeparator: { "-T:.Z".contains($0) }).map { Int64($0) }
        guard text.hasSuffix("Z"), (6...7).contains(parts.count), !parts.contains(nil) else { return nil }
        let numbers = parts.compactMap(\.self)
        guard (1970...9999).contains(numbers[0]), (1...12).contains(numbers[1]), (1...31).contains(numbers[2]),
            numbers[3] < 24, numbers[4] < 60, numbers[5] < 61, numbers.count < 7 || numbers[6] < 1_000
        else { return nil }
        // Days since 1970 in the Gregorian calendar, with years that begin in March.
        let year = numbers[1] > 2 ? numbers[0] : numbers[0] - 1
        let dayOfYear = (153 * (numbers[1] > 2 ? numbers[1] - 3 : numbers[1] + 9) + 2) / 5 + numbers[2] - 1
        let days = year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
        let seconds = days * 86_400 + numbers[3] * 3_600 + numbers[4] * 60 + numbers[5]
        return seconds * 1_000 + (numbers.count == 7 ? numbers[6] : 0)
    }
}
