import BridgeCore
import Vocabulary

// Journal entries beside the turns' records, and the look at a message's folder before it is passed on.
extension BridgeRunner {
    /// Looks at the folder last: a symbolic link may lead elsewhere by now than when it was configured.
    func passOn(_ number: CommandNumber, in folder: String?) {
        guard let folder, let folders = edges.folders else {
            return tell { bridge, now in bridge.commandKept(number, at: now) }
        }
        folders.look(at: folder) { [self] answer in
            tell { bridge, now in
                switch answer {
                case .found(let path): bridge.commandKept(number, in: path, at: now)
                case .unusable(let sentence): bridge.commandNotKept(number, sentence: sentence, at: now)
                }
            }
        }
    }

    /// Folder in which a message that an earlier process handed over runs, if the agent never got it.
    func folder(of record: TurnRecord) -> String? {
        guard !record.forwarded.isAccepted, let folder = ask({ $0.folder(of: record.opening) }) else { return nil }
        guard let folders = edges.folders else { return folder }
        if case .found(let path) = folders.look(at: folder) { return path }
        return nil
    }

    func keep(_ home: ChatHome?, of chat: SessionID) {
        edges.journal?.submit([HomeRecord.entry(of: chat, home)], .synced) { [weak self] failure in
            guard let self, let failure else { return }
            unwritable(failure)
            tell { bridge, _ in bridge.homeWasNotKept(of: chat) }
        }
    }

    func keep(_ obligation: Obligation, _ since: Instant) {
        let age = (edges.clock.now - since).nanoseconds / 1_000_000
        let entry = OwedRecord.entry(of: obligation, wall: edges.clock.wallMilliseconds - age)
        edges.journal?.submit([entry], .synced) { [weak self] failure in
            guard let self, let failure else { return }
            unwritable(failure)
            tell { bridge, _ in bridge.wasNotKept(obligation) }
        }
    }
}
