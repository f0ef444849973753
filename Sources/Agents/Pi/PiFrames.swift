import AgentKit
import Vocabulary

/// Commands of pi's RPC loop, one a line (pi.md#commands-stdin).
enum PiFrames {
    static func state(_ id: String) -> [UInt8] { plain("get_state", id) }
    static func messages(_ id: String) -> [UInt8] { plain("get_messages", id) }
    static func models(_ id: String) -> [UInt8] { plain("get_available_models", id) }
    static func setModel(_ model: PiModel, _ id: String) -> [UInt8] {
        var frame = begun("set_model", id)
        frame.string("provider", model.provider)
        frame.string("modelId", model.id)
        return frame.finish()
    }

    static func levels(_ id: String) -> [UInt8] { plain("get_available_thinking_levels", id) }
    static func setLevel(_ level: String, _ id: String) -> [UInt8] {
        var frame = begun("set_thinking_level", id)
        frame.string("level", level)
        return frame.finish()
    }

    static func abort(_ id: String) -> [UInt8] { plain("abort", id) }

    /// `followUp` is required during a run and harmless otherwise (pi.md#steering-and-queueing).
    static func prompt(_ prompt: PicturePrompt, _ id: String) -> [UInt8] {
        var frame = begun("prompt", id)
        frame.string("message", prompt.frameText)
        if !prompt.loaded.isEmpty { frame.objects("images", prompt.loaded.map(image)) }
        frame.string("streamingBehavior", "followUp")
        return frame.finish()
    }

    static func steer(_ prompt: PicturePrompt, _ id: String) -> [UInt8] {
        var frame = begun("steer", id)
        frame.string("message", prompt.frameText)
        if !prompt.loaded.isEmpty { frame.objects("images", prompt.loaded.map(image)) }
        return frame.finish()
    }

    private static func image(_ loaded: LoadedFile) -> [UInt8] {
        var image = JSONObjectWriter()
        image.string("type", "image")
        image.base64("data", loaded.bytes)
        image.string("mimeType", loaded.file.mimeType)
        return image.finish()
    }

    enum DialogAnswer: Hashable {
        case confirmed(Bool)
        case value(String)
        case cancelled
    }

    static func answer(_ answer: DialogAnswer, to dialog: String) -> [UInt8] {
        var frame = begun("extension_ui_response", dialog)
        switch answer {
        case .confirmed(let isConfirmed): frame.value("confirmed", JSONText(unchecked: isConfirmed ? "true" : "false"))
        case .value(let value): frame.string("value", value)
        case .cancelled: frame.value("cancelled", JSONText(unchecked: "true"))
        }
        return frame.finish()
    }

    private static func plain(_ type: String, _ id: String) -> [UInt8] { begun(type, id).finish() }

    private static func begun(_ type: String, _ id: String) -> JSONObjectWriter {
        var frame = JSONObjectWriter()
        frame.string("type", type)
        frame.string("id", id)
        return frame
    }
}
