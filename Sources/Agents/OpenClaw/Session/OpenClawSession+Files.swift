package import AgentKit
package import Vocabulary

// Files of messages: selected by the gateway's limits, read, and sent as base64 within the frame (openclaw.md#chatsend).
extension OpenClawSession {
    /// Selects the message's files once; the message then queues to have them read and sent.
    mutating func load(_ run: RunID, _ gateway: Gateway, at now: Instant) {
        guard let known = runs[run], let text = known.text else { return }
        let (taken, leftOut) = rules(gateway, text, known.files).sort(known.files.files)
        if known.files.areChosen {
            guard leftOut.isEmpty else { return cannotRepeat(run, at: now) }
        } else {
            var files = known.files
            files.files = taken
            files.missing += leftOut
            files.areChosen = true
            runs.choose(files, of: run)
            if !leftOut.isEmpty { observed([.filesLeftOut(run, leftOut)]) }
            if files.areAlone, taken.isEmpty {
                runs.forget(run)
                return answer(run, PicturePrompt.nothingLeft)
            }
        }
        guard !taken.isEmpty else {
            let missing = runs[run]?.files.missing ?? []
            return leave(run, text, FileLoads.Loaded(run: run, missing: missing), gateway, at: now)
        }
        runs.isLoading(run, at: now)
        uploads.queue(run)
        advanceUploads(at: now)
    }

    /// A key requires the same text and the same files, and this gateway does not accept those files.
    private mutating func cannotRepeat(_ run: RunID, at now: Instant) {
        guard let known = runs[run] else { return }
        if known.isInDoubt { return lookUpSend(run, in: known.session, at: now) }
        runs.forget(run)
        answer(
            run,
            .notSent(
                sentence:
                    "The agent's gateway takes smaller files than before, so it did not get this message. Please send it again."
            ))
    }

    /// Begins with the next message when the current one is answered, no longer needed, or looked up in the history.
    mutating func advanceUploads(at now: Instant) {
        guard isLive else { return }
        if let (run, step) = uploads.current {
            switch step {
            case .reading:
                if runs[run].map({ $0.isFollowed || $0.isStopped || lookUps[run]?.settlesSend == true }) == false {
                    return
                }
                orders.append(.dropLoad(run))
            case .leaving(_, let since):
                if requests.count(of: .send(run)) > 0 { return }
                requests.postpone(by: reading(now) - since, at: reading(now))
            }
            uploads.isOver()
        }
        while let run = uploads.beginNext() {
            guard let known = runs[run], !known.isFollowed, !known.isStopped else {
                uploads.isOver()
                continue
            }
            return orders.append(.load(run, known.files.files))
        }
    }

    /// All files of the message were read.
    package mutating func loaded(_ loaded: FileLoads.Loaded, at now: Instant) {
        let run = loaded.run
        guard uploads.isReading(run), let known = runs[run], let text = known.text, let gateway, !known.isFollowed,
            !known.isStopped
        else { return advanceUploads(at: now) }
        // Reading took time, and sending will.
        if known.isInDoubt, !mayRepeat(known, at: now) {
            uploads.isOver()
            lookUpSend(run, in: known.session, at: now)
        } else {
            var loaded = loaded
            loaded.missing = known.files.missing
            leave(run, text, loaded, gateway, at: now)
        }
        advanceUploads(at: now)
    }

    package mutating func unreadable(_ run: RunID, _ sentence: String, at now: Instant) {
        guard uploads.isReading(run), let known = runs[run] else { return advanceUploads(at: now) }
        uploads.isOver()
        if known.isInDoubt {
            var files = known.files
            files.areGone = true
            runs.choose(files, of: run)
            lookUpSend(run, in: known.session, at: now)
        } else {
            runs.forget(run)
            answer(run, .notSent(sentence: sentence))
        }
        advanceUploads(at: now)
    }

    /// Whether a second copy would arrive while the gateway still knows the key.
    func mayRepeat(_ known: GatewayRuns.Run, at now: Instant) -> Bool {
        guard case .asked(let since, _, _) = known.stage else { return true }
        let size = known.files.files.reduce(0) { $0 + Base64.length(of: $1.size) }
        return now - since + FrameTime.limit(for: size) < Self.keyLife
    }

    private func rules(_ gateway: Gateway, _ text: String, _ files: RunFiles) -> FileRules {
        // The rest of the frame: the text, escaped at worst, and a name and a note for each file.
        let others = text.utf8.count * 6 + 2_048 + (files.files.count + files.missing.count) * 1_024
        // Older gateways drop every file that is no picture, without a report (openclaw.md#chatsend).
        return FileRules(
            picturesAlone: gateway.isNew ? nil : "this version of the agent takes pictures alone",
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
