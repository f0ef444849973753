import AgentKit
import Vocabulary

/// Lines for the process (claude-code.md#prompts, claude-code.md#control-requests). A malformed line would end it.
enum ClaudeFrames {
    /// Registers a `Stop` hook over the same pipe: nothing else reports the session's schedules (claude-code.md#idle).
    static func initialize(_ id: String) -> [UInt8] {
        request(id, "initialize") {
            $0.value("hooks", JSONText(unchecked: #"{"Stop":[{"matcher":null,"hookCallbackIds":["stop"]}]}"#))
        }
    }

    static func isCommand(_ prompt: PicturePrompt) -> Bool { prompt.frameText.hasPrefix("/") }

    /// A text that begins with a slash is a command of Claude Code and stays unchanged. `refused`: calls that the model takes for
    /// failed, because no person could be asked.
    static func prompt(_ prompt: PicturePrompt, uuid: String, refused: [String] = []) -> [UInt8] {
        var words = prompt.frameText
        if !refused.isEmpty, !isCommand(prompt) {
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

    /// Drops the process's queue, and spares its helpers in the background.
    static func interrupt(_ id: String) -> [UInt8] {
        request(id, "interrupt") {
            $0.value("cancel_queued", JSONText(unchecked: "true"))
            $0.value("spare_background_tasks", JSONText(unchecked: "true"))
        }
    }

    /// Takes a prompt back out of the process's queue.
    static func takeBack(_ uuid: String, _ id: String) -> [UInt8] {
        request(id, "cancel_async_message") { $0.string("message_uuid", uuid) }
    }

    /// A nil model restores that of Claude Code's own settings.
    static func setModel(_ model: String?, _ id: String) -> [UInt8] {
        request(id, "set_model") { $0.value("model", model.map { JSONText.string($0) } ?? null) }
    }

    /// A nil budget restores that of Claude Code's own settings.
    static func setThinking(tokens: Int?, _ id: String) -> [UInt8] {
        request(id, "set_max_thinking_tokens") {
            $0.value("max_thinking_tokens", tokens.map { JSONText(unchecked: String($0)) } ?? null)
        }
    }

    static func endSession(_ id: String) -> [UInt8] { request(id, "end_session") { _ in } }

    /// Id of a run's prompt, the same in every process, so no prompt is carried out twice. Also the name of a new session.
    static func uuid(of name: String) -> String {
        var digits = Array(PlainSHA256.hex(Array("claude:\(name)".utf8)).utf8.prefix(32))
        // Version 5, from a name, and the standard's variant.
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
