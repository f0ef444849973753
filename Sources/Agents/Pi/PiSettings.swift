package import Vocabulary

/// The configuration of pi, and the children that follow from it.
package struct PiSettings: Hashable, Sendable {
    package var command: [String]
    /// The folder of a session without a known one.
    package var folder: String
    package var environment: ChildEnvironment

    package init(command: [String], folder: String, environment: ChildEnvironment = ChildEnvironment()) {
        self.command = command
        self.folder = folder
        self.environment = environment
    }

    var program: String { command.joined(separator: " ") }

    /// For pictures of one prompt: the whole line has to fit into what may wait for a child.
    static let pictureRoom = 48 << 20
    /// A line may hold a picture, or a whole answer twice (pi.md#framing).
    private static let lineLimit = 64 << 20
    /// What pi's own client grants (pi.md#process-end).
    private static let grace = Duration.seconds(1)

    func plan(file: String?, in folder: String?) -> ChildPlan {
        plan(command + (file.map { ["--session", $0] } ?? []), in: folder)
    }
    var checkPlan: ChildPlan { plan(command + ["--no-session"], in: nil) }

    private func plan(_ arguments: [String], in own: String?) -> ChildPlan {
        ChildPlan(
            arguments: arguments, environment: environment, folder: own ?? folder, life: .withBridge(grace: Self.grace),
            pipes: .lines(limit: Self.lineLimit))
    }
}
