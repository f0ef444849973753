import Vocabulary

/// Files of open tool calls. They count as touched once the call has ended well: a new file does not exist before.
struct OpenToolFiles: Sendable {
    private struct Name: Hashable, Sendable {
        var turn: TurnID
        var call: ToolCallID
    }

    /// Files of more calls than this at once are not shown.
    private static let limit = 1_000
    private var files: [Name: ToolFile] = [:]

    /// Files that the call has touched, once for each call.
    mutating func heard(_ event: ToolEvent, of turn: TurnID) -> [ToolFile] {
        switch event {
        case .started(let start):
            let name = Name(turn: turn, call: start.call)
            if let file = start.file, files.count < Self.limit || files[name] != nil { files[name] = file }
            return []
        case .progress(let progress): return progress.files
        case .finished(let result):
            let file = files.removeValue(forKey: Name(turn: turn, call: result.call))
            guard result.status == .completed else { return [] }
            return (file.map { [$0] } ?? []) + result.files
        }
    }

    mutating func closed(_ turn: TurnID) {
        guard !files.isEmpty else { return }
        files = files.filter { $0.key.turn != turn }
    }
}
