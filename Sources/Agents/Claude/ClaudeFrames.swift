import AgentKit
import Vocabulary

/// Lines for the process (claude-code.md#prompts, claude-code.md#control-requests). One that is not right would end it.
enum ClaudeFrames {
    /// A `Stop` hook over the same pipe: nothing else says which schedules a session has (claude-code.md#idle).
    static func initialize(_ id: String) -> [UInt8] {
        request(id, "initialize") {
            $0.value("hooks", JSONText(unchecked: #"{"Stop":[{"matcher":null,"hookCallbackIds":["stop"]}]}"#))
        }
    }

    /// A text that begins with a slash is a command of Claude Code's, as it stands.
    /// `refused`: calls that the model takes for failed, because no person could be asked.
    static func prompt(_ prompt: PicturePrompt, uuid: String, refused: [String] = []) -> [UInt8] {
        var words = prompt.frameText
        if !refused.isEmpty, !words.hasPrefix("/") {
            words =
                "[These calls were refused because nobody could be asked, not by the user: "
                + "\(refused.joined(separator: "; ")).]\n\n\(words)"
        }
        var message = JSONObjectWriter()
        message.string("role", "user")
        if prompt.loaded.isEmpty {
            message.string("content", words)
        } else {
            message.objects("content", [text(words)] + prompt.loaded.map(image))
        }
        var frame = JSONObjectWriter()
        frame.string("type", "user")
        frame.string("uuid", uuid)
        frame.string("session_id", "")
        frame.raw("message", message.finish())
        frame.value("parent_tool_use_id", JSONText(unchecked: "null"))
        return frame.finish()
    }

    private static func text(_ text: String) -> [UInt8] {
        var block = JSONObjectWriter()
        block.string("type", "text")
        block.string("text", text)
        return block.finish()
    }

    private static func image(_ loaded: LoadedFile) -> [UInt8] {
        var source = JSONObjectWriter()
        source.string("type", "base64")
        source.string("media_type", loaded.file.mimeType)
        source.base64("data", loaded.bytes)
        var block = JSONObjectWriter()
        block.string("type", "image")
        block.raw("source", source.finish())
        return block.finish()
    }

    /// The queue of the process is dropped, and its helpers in the background live.
    static func interrupt(_ id: String) -> [UInt8] {
        request(id, "interrupt") {
            $0.value("cancel_queued", JSONText(unchecked: "true"))
            $0.value("spare_background_tasks", JSONText(unchecked: "true"))
        }
    }

    /// A prompt that waits in the process's queue.
    static func takeBack(_ uuid: String, _ id: String) -> [UInt8] {
        request(id, "cancel_async_message") { $0.string("message_uuid", uuid) }
    }

    /// Nil sets the model of Claude Code's own settings.
    static func setModel(_ model: String?, _ id: String) -> [UInt8] {
        request(id, "set_model") { $0.value("model", model.map { JSONText.string($0) } ?? null) }
    }

    /// Nil sets the budget of Claude Code's own settings.
    static func setThinking(tokens: Int?, _ id: String) -> [UInt8] {
        request(id, "set_max_thinking_tokens") {
            $0.value("max_thinking_tokens", tokens.map { JSONText(unchecked: String($0)) } ?? null)
        }
    }

    static func endSession(_ id: String) -> [UInt8] { request(id, "end_session") { _ in } }
    /// Answered at once whatever the process does: the question whether it lives.
    static func probe(_ id: String) -> [UInt8] { request(id, "mcp_status") { _ in } }

    /// The same run has the same one in every process, so that no prompt is carried out twice. Also the name of a new session.
    static func uuid(of name: String) -> String {
        var digits = Array(PlainSHA256.hex(Array("claude:\(name)".utf8)).utf8.prefix(32))
        // Version 5, made of a name, and the variant of the standard.
        digits[12] = UInt8(ascii: "5")
        digits[16] = Array("89ab".utf8)[Int(digits[16] & 3)]
        var text = digits[...]
        return [8, 4, 4, 4, 12].map { count in
            defer { text = text.dropFirst(count) }
            return String(decoding: text.prefix(count), as: UTF8.self)
        }.joined(separator: "-")
    }

    private static var null: JSONText { JSONText(unchecked: "null") }

    private static func request(
        _ id: String, _ subtype: String, _ members: (inout JSONObjectWriter) -> Void
    ) -> [UInt8] {
        var request = JSONObjectWriter()
        request.string("subtype", subtype)
        members(&request)
        var frame = JSONObjectWriter()
        frame.string("type", "control_request")
        frame.string("request_id", id)
        frame.raw("request", request.finish())
        return frame.finish()
    }
}
