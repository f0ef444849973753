import BridgeCore
import BridgeModel

// Files that come with messages: on the disk before the agent gets the message, and off it when the agent has them.
extension LiveConnection {
    func fetch(_ attachments: [Attachment], for turn: TurnID) {
        guard let files else {
            let missing = attachments.map { attachment in
                var attachment = attachment
                attachment.outcome = .missing(.notFetched(attachment.plainName, "the bridge has no place for files"))
                return attachment
            }
            runner?.tell { bridge, now in bridge.fetched(missing, for: turn, at: now) }
            return
        }
        files.fetch(attachments, for: turn) { [weak self] fetched in
            self?.runner?.tell { bridge, now in bridge.fetched(fetched, for: turn, at: now) }
        }
    }
}
