import Dispatch
package import Files
import Locking
import OSThreads
package import Vocabulary

/// Looks at folders on threads of their own. A disk that hangs (a lost network, a drive that does not wake up) blocks nothing else: after the
/// timeout its folder is refused, and no further thread waits for it until it answers.
package final class SystemFolders: FolderPort {
    private struct Look {
        var answer: FolderAnswer?
        var isLate = false
    }

    private let find: @Sendable (String) -> FolderAnswer
    private let patience: Duration
    private let hanging = Locked<Set<String>>([])

    package convenience init(_ folders: WorkspaceFolders) { self.init { folders.look(at: $0) } }

    package init(patience: Duration = .seconds(20), find: @escaping @Sendable (String) -> FolderAnswer) {
        self.patience = patience
        self.find = find
    }

    package func look(at folder: String) -> FolderAnswer {
        guard !hanging.withLock({ $0.contains(folder) }) else { return Self.silent(folder) }
        let (look, isDone) = (Locked(Look()), DispatchSemaphore(value: 0))
        let isStarted = startThread { [self] in
            let answer = find(folder)
            let isLate = look.withLock { look in
                look.answer = answer
                return look.isLate
            }
            if isLate { hanging.withLock { _ = $0.remove(folder) } }
            isDone.signal()
        }
        guard isStarted else { return Self.noThread }
        _ = isDone.wait(timeout: .now() + .nanoseconds(Int(patience.nanoseconds)))
        return look.withLock { look in
            if let answer = look.answer { return answer }
            look.isLate = true
            hanging.withLock { _ = $0.insert(folder) }
            return Self.silent(folder)
        }
    }

    package func look(at folder: String, completion: @escaping @Sendable (FolderAnswer) -> Void) {
        if !startThread({ [self] in completion(look(at: folder)) }) { completion(Self.noThread) }
    }

    private static let noThread = FolderAnswer.unusable(
        "The system has no thread left to look at the workspace. Please send it again later.")

    private static func silent(_ folder: String) -> FolderAnswer {
        .unusable("The disk of the workspace \(folder) does not answer. Please mend that, and send it again.")
    }
}
