import Vocabulary

/// Requests of the bridge (codex.md#methods), and its answers to the server's requests.
enum CodexFrames {
    static func request(_ id: Int, _ method: String, _ params: [UInt8]) -> [UInt8] {
        var frame = JSONObjectWriter()
        frame.integer("id", id)
        frame.string("method", method)
        frame.raw("params", params)
        return frame.finish()
    }

    static let initialized = Array(#"{"method":"initialized"}"#.utf8)

    static func answer(_ id: JSONText, _ result: String) -> [UInt8] {
        Array(#"{"id":\#(id.text),"result":\#(result)}"#.utf8)
    }

    static func refuse(_ id: JSONText, _ message: String) -> [UInt8] {
        Array(#"{"id":\#(id.text),"error":{"code":-32601,"message":\#(JSONText.string(message).text)}}"#.utf8)
    }

    // MARK: Parameters

    static let none = Array("{}".utf8)

    static func initialize(version: String) -> [UInt8] {
        let optedOut = CodexNames.optedOut.map { JSONText.string($0).text }.joined(separator: ",")
        return Array(
            """
            {"clientInfo":{"name":"sophon_bridge","title":"Sophon bridge","version":\(JSONText.string(version).text)},\
            "capabilities":{"experimentalApi":true,"optOutNotificationMethods":[\(optedOut)]}}
            """.utf8)
    }

    /// Every setting goes with every start and resume: Codex takes a missing one from the thread or the configuration
    /// (codex.md#settings).
    static func start(_ settings: CodexSettings, folder: String) -> [UInt8] {
        var params = JSONObjectWriter()
        add(settings, folder, to: &params)
        return params.finish()
    }

    /// `showsTurn`: the answer carries the newest turn with its open items, which no list has.
    static func resume(_ thread: String, _ settings: CodexSettings, folder: String, showsTurn: Bool = false) -> [UInt8]
    {
        var params = JSONObjectWriter()
        params.string("threadId", thread)
        params.value("excludeTurns", JSONText(unchecked: "true"))
        if showsTurn {
            params.value("initialTurnsPage", JSONText(unchecked: #"{"limit":1,"itemsView":"full"}"#))
        }
        add(settings, folder, to: &params)
        return params.finish()
    }

    private static func add(_ settings: CodexSettings, _ folder: String, to params: inout JSONObjectWriter) {
        params.string("cwd", folder)
        params.string("sandbox", settings.sandbox)
        params.string("approvalPolicy", settings.approvalPolicy)
        params.string("approvalsReviewer", "user")
    }

    static func thread(_ thread: String) -> [UInt8] {
        var params = JSONObjectWriter()
        params.string("threadId", thread)
        return params.finish()
    }

    /// The newest turns, or those behind the cursor: one with all its items, or twenty with their first and last message.
    static func turns(of thread: String, isWhole: Bool, from cursor: String? = nil) -> [UInt8] {
        var params = JSONObjectWriter()
        params.string("threadId", thread)
        params.string("cursor", cursor)
        params.integer("limit", isWhole ? 1 : 20)
        params.string("itemsView", isWhole ? "full" : "summary")
        return params.finish()
    }

    /// Items of one turn, the oldest first. A page has only a few, because each command's output may have a megabyte.
    static func items(of turn: String, in thread: String, from cursor: String?) -> [UInt8] {
        var params = JSONObjectWriter()
        params.string("threadId", thread)
        params.string("turnId", turn)
        params.string("cursor", cursor)
        params.integer("limit", 8)
        return params.finish()
    }

    /// `effort`: one of Codex's own words.
    static func turn(_ thread: String, _ prompt: CodexPrompt, effort: String? = nil) -> [UInt8] {
        var params = JSONObjectWriter()
        params.string("threadId", thread)
        add(prompt, to: &params)
        params.string("model", prompt.model)
        params.string("effort", effort)
        return params.finish()
    }

    private static func add(_ prompt: CodexPrompt, to params: inout JSONObjectWriter) {
        params.string("clientUserMessageId", prompt.run.text)
        var input: [String] = []
        if !prompt.text.isEmpty || prompt.images.isEmpty {
            input.append(#"{"type":"text","text":\#(JSONText.string(prompt.text).text)}"#)
        }
        input += prompt.images.map { #"{"type":"localImage","path":\#(JSONText.string($0).text)}"# }
        params.value("input", JSONText(unchecked: "[\(input.joined(separator: ","))]"))
    }

    static func steer(_ thread: String, _ turn: String, _ prompt: CodexPrompt) -> [UInt8] {
        var params = JSONObjectWriter()
        params.string("threadId", thread)
        params.string("expectedTurnId", turn)
        add(prompt, to: &params)
        return params.finish()
    }

    static func interrupt(_ thread: String, _ turn: String) -> [UInt8] {
        var params = JSONObjectWriter()
        params.string("threadId", thread)
        params.string("turnId", turn)
        return params.finish()
    }

    static func terminate(_ thread: String, _ process: String) -> [UInt8] {
        var params = JSONObjectWriter()
        params.string("threadId", thread)
        params.string("processId", process)
        return params.finish()
    }

    static func pauseGoal(_ thread: String) -> [UInt8] {
        var params = JSONObjectWriter()
        params.string("threadId", thread)
        params.string("status", "paused")
        return params.finish()
    }
}
