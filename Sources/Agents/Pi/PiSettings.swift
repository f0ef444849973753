package import Vocabulary

/// The configuration of pi, and the children made from it.
package struct PiSettings: Hashable, Sendable {
    package var command: [String]
    /// Folder of a session without one of its own.
    package var folder: String
    package var environment: ChildEnvironment

    package init(command: [String], folder: String, environment: ChildEnvironment = ChildEnvironment()) {
        self.command = command
        self.folder = folder
        self.environment = environment
    }

    var program: String { command.joined(separator: " ") }

    /// Room for the pictures of one prompt: the whole line must fit into the queue of a child.
    static let pictureRoom = 48 << 20
    /// A line may hold a picture, or a whole answer twice (pi.md#framing).
    private static let lineLimit = 64 << 20
    /// Grace of pi's own client (pi.md#process-end).
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
