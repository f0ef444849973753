import AgentKit
import Vocabulary

/// Frames for the server (oppi.md#client--server-frames).
enum OppiFrames {
    /// A number above every `seq`: the server replays nothing and answers with its current number.
    static let fromNow = 1_000_000_000

    /// Always has a number: head ignores a repeated subscription without one (oppi.md#level-rules).
    static func subscribe(_ session: String, isFull: Bool, since: Int?, _ request: String) -> [UInt8] {
        var frame = begun("subscribe", session, request)
        frame.string("level", isFull ? "full" : "notifications")
        frame.integer("sinceSeq", since ?? fromNow)
        return frame.finish()
    }

    static func unsubscribe(_ session: String, _ request: String) -> [UInt8] {
        begun("unsubscribe", session, request).finish()
    }

    /// `followUp` queues the message behind the running loop. A `prompt` is refused then, whatever
    /// its `streamingBehavior` (oppi.md#turn-delivery-clientturnid-and-turn_ack).
    enum Verb: String {
        case prompt, steer
        case followUp = "follow_up"
    }

    static func say(
        _ verb: Verb, _ prompt: PicturePrompt, turn: String, to session: String, _ request: String
    ) -> [UInt8] {
        var frame = begun(verb.rawValue, session, request)
        frame.string("message", prompt.frameText)
        if !prompt.loaded.isEmpty { frame.objects("images", prompt.loaded.map(image)) }
        frame.string("clientTurnId", turn)
        return frame.finish()
    }

    private static func image(_ loaded: LoadedFile) -> [UInt8] {
        var image = JSONObjectWriter()
        image.base64("data", loaded.bytes)
        image.string("mimeType", loaded.file.mimeType)
        return image.finish()
    }

    static func setModel(_ provider: String, _ model: String, of session: String, _ request: String) -> [UInt8] {
        var frame = begun("set_model", session, request)
        frame.string("provider", provider)
        frame.string("modelId", model)
        return frame.finish()
    }

    static func setLevel(_ level: String, of session: String, _ request: String) -> [UInt8] {
        var frame = begun("set_thinking_level", session, request)
        frame.string("level", level)
        return frame.finish()
    }

    static func stop(_ session: String, _ request: String) -> [UInt8] { begun("stop", session, request).finish() }
    static func queue(_ session: String, _ request: String) -> [UInt8] { begun("get_queue", session, request).finish() }

    /// Empties the queue if it still has that version.
    static func emptyQueue(_ session: String, version: Int, _ request: String) -> [UInt8] {
        var frame = begun("set_queue", session, request)
        frame.integer("baseVersion", version)
        frame.objects("steering", [])
        frame.objects("followUp", [])
        return frame.finish()
    }

    static func stopSession(_ session: String, _ request: String) -> [UInt8] {
        begun("stop_session", session, request).finish()
    }

    static func abortRetry(_ session: String, _ request: String) -> [UInt8] {
        begun("abort_retry", session, request).finish()
    }

    static func state(_ session: String, _ request: String) -> [UInt8] { begun("get_state", session, request).finish() }

    /// `scope`: `once`, `session` or `global`.
    static func permission(_ id: String, allows: Bool, scope: String, _ request: String) -> [UInt8] {
        var frame = JSONObjectWriter()
        frame.string("type", "permission_response")
        frame.string("id", id)
        frame.string("action", allows ? "allow" : "deny")
        frame.string("scope", scope)
        frame.string("requestId", request)
        return frame.finish()
    }

    enum DialogAnswer: Hashable {
        case confirmed(Bool)
        case value(String)
        case cancelled
    }

    static func dialog(_ id: String, _ answer: DialogAnswer, of session: String) -> [UInt8] {
        var frame = JSONObjectWriter()
        frame.string("type", "extension_ui_response")
        frame.string("sessionId", session)
        frame.string("id", id)
        switch answer {
        case .confirmed(let isConfirmed): frame.value("confirmed", JSONText(unchecked: isConfirmed ? "true" : "false"))
        case .value(let value): frame.string("value", value)
        case .cancelled: frame.value("cancelled", JSONText(unchecked: "true"))
        }
        return frame.finish()
    }

    private static func begun(_ type: String, _ session: String, _ request: String) -> JSONObjectWriter {
        var frame = JSONObjectWriter()
        frame.string("type", type)
        frame.string("sessionId", session)
        frame.string("requestId", request)
        return frame
    }
}
