package import Vocabulary

/// A message on its way to an agent that takes text and pictures alone.
package struct PicturePrompt: Hashable, Sendable {
    package let text: String
    /// Files named behind the text as left out.
    package private(set) var missing: [MissingFile] = []
    /// Pictures to read before the prompt is written.
    package private(set) var pictures: [MessageFile] = []
    package private(set) var loaded: [LoadedFile] = []
    /// Files of the message are lost with an earlier process: it must not be written again.
    package private(set) var isIncomplete = false
    /// Model to set before the prompt is written.
    package private(set) var model = ModelChoice.unchanged
    package private(set) var level = LevelChoice.unchanged
    /// The prompt steers the active run if that is ours.
    package var steers = false
    private var holdsFilesAlone = false

    /// Bytes before base64: providers of models refuse more than 5 MB of that. An agent sends its whole session with every later
    /// prompt, so one picture too large would end the chat for good.
    private static let pictureLimit = 3_700_000
    /// Room for all pictures of a prompt, in base64: an agent reports its history with all pictures of the session in one line.
    private static let promptRoom = 10_000_000

    /// Answer to a message of files alone, none of which the agent takes.
    package static let nothingLeft = SendAnswer.notSent(
        sentence: "None of its files could be passed on, so the agent did not get this message.")

    package init(
        _ text: String, hadFiles: Bool = false, model: ModelChoice = .unchanged, level: LevelChoice = .unchanged
    ) {
        self.text = text
        self.model = model
        self.level = level
        isIncomplete = hadFiles
    }

    /// The prompt, and the files that the agent does not take. `room` of the whole frame, in bytes of base64.
    package static func of(
        _ message: UserMessage, for agent: String, room: Int
    ) -> (prompt: PicturePrompt, leftOut: [MissingFile]) {
        let rules = FileRules(
            picturesAlone: "\(agent) takes pictures alone (PNG, JPEG, GIF, WebP)", fileLimit: 0,
            pictureLimit: pictureLimit, room: min(room, promptRoom))
        let (taken, leftOut) = rules.sort(message.files)
        var prompt = PicturePrompt(message.prompt, model: message.choice, level: message.level)
        prompt.missing = message.missing + leftOut
        prompt.pictures = taken
        prompt.steers = message.steers
        prompt.holdsFilesAlone = message.holdsFilesAlone
        return (prompt, leftOut)
    }

    /// Bytes of the pictures read so far.
    package var heldBytes: Int { loaded.reduce(0) { $0 + $1.bytes.count } }

    /// Longest time for its frame to leave.
    package var frameTime: Duration {
        FrameTime.limit(for: text.utf8.count + loaded.reduce(0) { $0 + Base64.length(of: $1.bytes.count) })
    }

    package var isReady: Bool { pictures.isEmpty }
    /// The message had files alone and none is left: nothing to write.
    package var isNothing: Bool { holdsFilesAlone && pictures.isEmpty && loaded.isEmpty }

    /// Takes the pictures that were read, and returns those left out all the same.
    package mutating func take(_ loaded: FileLoads.Loaded) -> [MissingFile] {
        var leftOut: [MissingFile] = []
        for file in loaded.files {
            if let problem = PictureShape.problem(of: file.bytes) {
                leftOut.append(.notPassedOn(file.file.name, problem))
            } else {
                self.loaded.append(file)
            }
        }
        missing += leftOut
        pictures = []
        return leftOut
    }

    /// Frees the pictures once the agent has them.
    package mutating func forgetPictures() { loaded = [] }

    package var frameText: String { PromptText.noting(missing, behind: text) }
}
