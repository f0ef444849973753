package import AgentKit
package import BridgeModel

// Files of messages: chosen by what the gateway takes, read, and sent as base64 within the frame (openclaw.md#chatsend).
extension OpenClawSession {
    mutating func load(_ run: RunID, at now: Instant) {
        guard let known = runs[run], let text = known.text, let gateway else { return }
        let (taken, missing) = rules(gateway, text, known.files).sort(known.files.files)
        guard taken.isEmpty else {
            runs.isLoading(run, at: now)
            return orders.append(.load(run, taken))
        }
        report(missing, of: run)
        leave(run, text, FileLoads.Loaded(run: run, missing: known.files.missing + missing), gateway, at: now)
    }

    /// Read, as far as they could be. The link may be another one than when they were asked for, or away: then the message leaves
    /// with the next one, and they are read again.
    package mutating func loaded(_ loaded: FileLoads.Loaded, at now: Instant) {
        guard let known = runs[loaded.run], let text = known.text, let gateway, !known.isFollowed, !known.isStopped,
            requests.count(of: .send(loaded.run)) == 0
        else { return }
        let (taken, missing) = rules(gateway, text, known.files).sort(known.files.files)
        var loaded = loaded
        loaded.files.removeAll { !taken.contains($0.file) }
        loaded.missing += missing
        report(loaded.missing, of: loaded.run)
        loaded.missing = known.files.missing + loaded.missing
        leave(loaded.run, text, loaded, gateway, at: now)
    }

    /// Once for each message, however often it leaves.
    private mutating func report(_ missing: [MissingFile], of run: RunID) {
        guard !missing.isEmpty, runs.leavesForTheFirstTime(run) else { return }
        observed([.filesLeftOut(run, missing)])
    }

    private func rules(_ gateway: Gateway, _ text: String, _ files: RunFiles) -> FileRules {
        // What else is in the frame: the text, escaped at worst, and a name and a note for each file.
        let others = text.utf8.count * 6 + 2_048 + (files.files.count + files.missing.count) * 1_024
        return FileRules(
            fileLimit: gateway.fileLimit, pictureLimit: gateway.pictureLimit, room: gateway.maxPayload - others)
    }

    static func attachment(_ loaded: LoadedFile) -> [UInt8] {
        var attachment = JSONObjectWriter()
        attachment.string("mimeType", loaded.file.mimeType)
        attachment.string("fileName", loaded.file.name)
        attachment.base64("content", loaded.bytes)
        return attachment.finish()
    }
}
