/// What became of an attachment on its way from the phone to the bridge.
package enum AttachmentOutcome: Hashable, Sendable {
    case file(MessageFile)
    case missing(MissingFile)
}

/// A file that came with a message: on the bridge's disk until the agent has it.
package struct MessageFile: Hashable, Sendable {
    /// One line without a path, for the agent and the person.
    package var name: String
    package var mimeType: String
    package var path: String
    package var size: Int

    package init(name: String, mimeType: String, path: String, size: Int) {
        self.name = name
        self.mimeType = mimeType
        self.path = path
        self.size = size
    }

    /// A picture as every model that sees takes it. Its bytes were looked at when it was fetched.
    package var isPicture: Bool { ["image/png", "image/jpeg", "image/gif", "image/webp"].contains(mimeType) }
}

/// In which chats files of messages are fetched. They are bound to no sealed message: a relay can add some to it.
package enum MessageFiles: String, Hashable, Sendable, CaseIterable {
    case all, open, none

    /// As the rest of a sentence; nil: they are fetched.
    package func refusal(isSealed: Bool) -> String? {
        switch self {
        case .all: nil
        case .open: isSealed ? "this bridge takes no files in sealed chats" : nil
        case .none: "this bridge takes no files"
        }
    }
}

/// A file that the agent does not get.
package struct MissingFile: Hashable, Sendable {
    package var name: String
    /// What happened to it, as the rest of a sentence that begins with its name.
    package var problem: String

    package init(_ name: String, _ problem: String) {
        self.name = name
        self.problem = problem
    }

    package static func notFetched(_ name: String, _ reason: String) -> MissingFile {
        MissingFile(name, "could not be fetched: \(reason)")
    }

    package static func notPassedOn(_ name: String, _ reason: String) -> MissingFile {
        MissingFile(name, "was not passed on: \(reason)")
    }

    package var sentence: String { "\(name) \(problem)." }
}

extension Attachment {
    /// What it is called in sentences: one line, no path, nothing that a terminal or a file system would take for more than a name.
    package var plainName: String {
        let last = (name ?? "").split { $0 == "/" || $0 == "\\" }.last ?? ""
        // What is said of it to the agent is in brackets, and a name must not end them.
        let plain = last.unicodeScalars.filter { $0.properties.isPrintable && !"[]".unicodeScalars.contains($0) }
        var text = String(String.UnicodeScalarView(plain)).split { $0.isWhitespace }.joined(separator: " ")
        while text.hasPrefix(".") { text.removeFirst() }
        while text.utf8.count > 120 { text.removeLast() }
        if !text.isEmpty { return text }
        return mimeType?.hasPrefix("image/") == true ? "picture" : "file"
    }
}

extension Unicode.Scalar.Properties {
    /// Neither a control character nor one that is drawn as nothing.
    fileprivate var isPrintable: Bool {
        switch generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}

extension UserMessage {
    /// How many of its files are fetched.
    package static let attachmentLimit = 16

    /// Those that were fetched.
    package var files: [MessageFile] {
        attachments.compactMap { if case .file(let file) = $0.outcome { file } else { nil } }
    }

    package var missing: [MissingFile] {
        attachments.compactMap { if case .missing(let file) = $0.outcome { file } else { nil } }
    }

    package var holdsFilesAlone: Bool { text.allSatisfy(\.isWhitespace) && !attachments.isEmpty }

    /// What the agent is asked: of a message that holds files alone, their names. It follows from what the journal keeps, so that a
    /// restarted bridge finds it in the agent's history.
    package var prompt: String {
        guard holdsFilesAlone else { return text }
        return "Files sent: \(attachments.map(\.plainName).joined(separator: ", "))"
    }
}
