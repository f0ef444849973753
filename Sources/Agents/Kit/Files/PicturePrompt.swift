package import Vocabulary

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
    package private(set) var level = LevelChoice.unchanged
    /// The prompt steers the active run, where that is ours.
    package var steers = false
    private var holdsFilesAlone = false

    /// Before base64: providers of models refuse more than 5 MB of that. An agent sends what its session holds with every later prompt, so
    /// that one picture too large would end the chat for good.
    private static let pictureLimit = 3_700_000
    /// Of all pictures of a prompt, in base64: an agent answers for its history with all pictures of the session in one line.
    private static let promptRoom = 10_000_000

    /// Of a message that holds files alone, and none that this agent takes.
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

    /// And those of its files that the agent does not take. `room`: of the whole frame, in bytes of base64.
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

    /// Of the pictures that were read.
    package var heldBytes: Int { loaded.reduce(0) { $0 + $1.bytes.count } }

    /// That its frame may need to leave.
    package var frameTime: Duration {
        FrameTime.limit(for: text.utf8.count + loaded.reduce(0) { $0 + Base64.length(of: $1.bytes.count) })
    }

    package var isReady: Bool { pictures.isEmpty }
    /// Of files alone, none is left: nothing is to be written.
    package var isNothing: Bool { holdsFilesAlone && pictures.isEmpty && loaded.isEmpty }

    /// What was read, and is left out all the same.
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

    /// The agent has it: their bytes are of no use any more.
    package mutating func forgetPictures() { loaded = [] }

    package var frameText: String { PromptText.noting(missing, behind: text) }
}
