package import BridgeModel

/// A message on its way to an agent that takes pictures beside the text and nothing else.
package struct PicturePrompt: Hashable, Sendable {
    package let text: String
    /// Named behind the text.
    package private(set) var missing: [MissingFile] = []
    /// To be read before it is written.
    package private(set) var pictures: [MessageFile] = []
    package private(set) var loaded: [LoadedFile] = []
    /// It had files that only an earlier process could read: it must not be written again.
    package private(set) var isIncomplete = false
    /// To be set before it is written.
    package private(set) var model = ModelChoice.unchanged

    package init(_ text: String, hadFiles: Bool = false, model: ModelChoice = .unchanged) {
        self.text = text
        self.model = model
        isIncomplete = hadFiles
    }

    /// And those of its files that the agent does not take. `room`: of the whole frame, in bytes of base64.
    package static func of(
        _ message: UserMessage, for agent: String, room: Int
    ) -> (prompt: PicturePrompt, leftOut: [MissingFile]) {
        let rules = FileRules(
            picturesAlone: "\(agent) takes pictures alone (PNG, JPEG, GIF, WebP)", fileLimit: 0, pictureLimit: .max,
            room: room)
        let (taken, leftOut) = rules.sort(message.files)
        var prompt = PicturePrompt(message.prompt, model: message.choice)
        prompt.missing = message.missing + leftOut
        prompt.pictures = taken
        return (prompt, leftOut)
    }

    package var isReady: Bool { pictures.isEmpty }

    package mutating func take(_ loaded: FileLoads.Loaded) {
        self.loaded = loaded.files
        missing += loaded.missing
        pictures = []
    }

    /// The agent has it: their bytes are of no use any more.
    package mutating func forgetPictures() { loaded = [] }

    package var frameText: String { PromptText.noting(missing, behind: text) }
}
