import BridgeCore
package import Vocabulary

/// Files that come with messages, and those that the agent's tools touch.
package struct FileParts: Sendable {
    /// Fetcher of attachments, or nil without a folder for them; messages then go without their files.
    package var fetcher: (any AttachmentPort)?
    /// Nil if the agent's files are not on this machine; the phone is shown none then.
    package var viewer: FileViewer.Parts?

    package init(fetcher: (any AttachmentPort)? = nil, viewer: FileViewer.Parts? = nil) {
        self.fetcher = fetcher
        self.viewer = viewer
    }
}

/// The file parts of one connection.
struct LiveFiles {
    let fetcher: (any AttachmentPort)?
    let viewer: FileViewer?

    init(
        _ parts: FileParts, _ loose: LooseCalls, _ keys: LiveKeys?, journal: any TurnJournal, clock: any Clock,
        note: @escaping @Sendable (String) -> Void
    ) {
        fetcher = parts.fetcher
        viewer = parts.viewer.map { FileViewer($0, loose, keys, journal: journal, clock: clock, note: note) }
    }
}

// Files of messages: stored before the agent gets the message, deleted once the agent has them.
extension LiveConnection {
    func fetch(_ attachments: [Attachment], for turn: TurnID) {
        guard let fetcher = files?.fetcher else {
            let missing = attachments.map { attachment in
                var attachment = attachment
                attachment.outcome = .missing(.notFetched(attachment.plainName, "the bridge has no place for files"))
                return attachment
            }
            runner?.tell { bridge, now in bridge.fetched(missing, for: turn, at: now) }
            return
        }
        fetcher.fetch(attachments, for: turn) { [weak self] fetched in
            self?.runner?.tell { bridge, now in bridge.fetched(fetched, for: turn, at: now) }
        }
    }
}
