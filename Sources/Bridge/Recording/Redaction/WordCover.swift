/// Covers the words of a frame: for a connection with sealed chats a recording keeps the kinds of the frames and their order, and no word that
/// was said in them.
///
/// The list names what is kept, so that additions of a later agent are covered until they are known: the members of `kept` that are one word
/// or id, numbers, and names that are words of a protocol. The input and output of tools and forms lose their names and numbers too; their
/// structure, true, false and null stay.
struct WordCover {
    static let marker = Array("\"[covered]\"".utf8)

    private static let kept: Set<String> = [
        "_http", "_proc", "_ws", "approvalId", "code", "decision", "event", "id", "kind", "maxProtocol", "method",
        "minProtocol", "mode", "ok", "phase", "platform", "protocol", "requestId", "role", "runId", "run_id", "scope",
        "scopes", "sessionId", "sessionKey", "session_id", "signal", "state", "status", "stopReason", "stream",
        "toolCallId", "tool_call_id", "turnId", "type", "version",
    ]
    private static let ofTools: Set<String> = [
        "_meta", "answers", "args", "arguments", "details", "env", "input", "output", "partialResult",
        "partial_result", "questions", "requestedSchema", "result", "tool_params", "tool_params_display",
    ]

    private struct Level {
        var isObject: Bool
        var isTools: Bool
        var expectsName: Bool
        /// True if the current member, or each element, is kept.
        var isKept: Bool
        var nextIsTools = false
    }

    private let json: [UInt8]
    private var covered: [UInt8] = []
    private var levels: [Level] = []

    private init(_ json: [UInt8]) {
        self.json = json
        covered.reserveCapacity(json.count)
    }

    /// `json` must be JSON.
    static func frame(_ json: [UInt8]) -> [UInt8] {
        var walk = WordCover(json)
        return walk.result()
    }

    private mutating func result() -> [UInt8] {
        var index = 0
        while index < json.count {
            switch json[index] {
            case UInt8(ascii: "\""): index = string(from: index)
            case UInt8(ascii: "{"), UInt8(ascii: "["): index = open(at: index)
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                _ = levels.popLast()
                index = copy(index)
            case UInt8(ascii: ","):
                if let last = levels.indices.last { levels[last].expectsName = levels[last].isObject }
                index = copy(index)
            case UInt8(ascii: "-"), 48...57:
                let end = Bytes.run(json, index) { Bytes.isAlphanumeric($0) || Array("+-.".utf8).contains($0) }
                covered += levels.last?.isTools == true ? Self.marker : Array(json[index..<end])
                index = end
            default: index = copy(index)
            }
        }
        return covered
    }

    private mutating func copy(_ index: Int) -> Int {
        covered.append(json[index])
        return index + 1
    }

    private mutating func open(at index: Int) -> Int {
        let isObject = json[index] == UInt8(ascii: "{")
        let isTools = levels.last.map { $0.isTools || $0.nextIsTools } ?? false
        // The elements of an array are kept or covered by the array's name.
        let isKept = !isObject && levels.last?.isKept == true
        levels.append(Level(isObject: isObject, isTools: isTools, expectsName: isObject, isKept: isKept))
        return copy(index)
    }

    private mutating func string(from quote: Int) -> Int {
        var end = quote + 1
        while end < json.count, json[end] != UInt8(ascii: "\"") { end += json[end] == UInt8(ascii: "\\") ? 2 : 1 }
        end = min(end + 1, json.count)
        let text = json[quote..<end]
        guard let last = levels.indices.last, levels[last].expectsName else {
            let isShown = levels.last.map { $0.isKept && !$0.isTools } == true && Self.isID(text.dropFirst().dropLast())
            covered += isShown ? Array(text) : Self.marker
            return end
        }
        let name = String(decoding: text.dropFirst().dropLast(), as: UTF8.self)
        levels[last].expectsName = false
        levels[last].isKept = Self.kept.contains(name)
        levels[last].nextIsTools = Self.ofTools.contains(name)
        covered += !levels[last].isTools && Self.isWord(name) ? Array(text) : Self.marker
        return end
    }

    private static func isID(_ text: ArraySlice<UInt8>) -> Bool {
        text.count <= 256 && text.allSatisfy { Bytes.isAlphanumeric($0) || Array("_.:/|-".utf8).contains($0) }
    }

    private static func isWord(_ name: String) -> Bool {
        name.utf8.count <= 32 && name.utf8.allSatisfy { Bytes.isAlphanumeric($0) || $0 == UInt8(ascii: "_") }
    }
}
