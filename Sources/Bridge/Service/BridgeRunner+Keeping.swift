import BridgeCore
import Vocabulary

// What is kept beside the turns' records, and what is looked at before a message is passed on.
extension BridgeRunner {
    /// The folder is looked at last: what a link leads to may have changed since it was configured.
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

    /// Where the message that an earlier process handed over is carried out, if the agent never got it.
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
