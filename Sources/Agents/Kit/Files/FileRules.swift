package import Vocabulary

/// Selects the files of a message that an agent takes, by kind and size, before any of them is read.
package struct FileRules: Hashable, Sendable {
    /// Reason of an agent that takes pictures alone, or nil if it takes every kind.
    package var picturesAlone: String?
    package var fileLimit: Int
    package var pictureLimit: Int
    /// Room of a frame, in bytes of base64.
    package var room: Int

    package init(picturesAlone: String? = nil, fileLimit: Int, pictureLimit: Int, room: Int) {
        self.picturesAlone = picturesAlone
        self.fileLimit = fileLimit
        self.pictureLimit = pictureLimit
        self.room = room
    }

    package func sort(_ files: [MessageFile]) -> (taken: [MessageFile], missing: [MissingFile]) {
        var left = room
        var taken: [MessageFile] = []
        var missing: [MissingFile] = []
        for file in files {
            let limit = file.isPicture ? pictureLimit : fileLimit
            let cost = Base64.length(of: file.size)
            if let picturesAlone, !file.isPicture {
                missing.append(.notPassedOn(file.name, picturesAlone))
            } else if file.size > limit {
                let kind = file.isPicture ? "pictures" : "files"
                missing.append(.notPassedOn(file.name, "the agent takes \(kind) of up to \(Self.megabytes(limit))"))
            } else if cost > left {
                missing.append(.notPassedOn(file.name, "a message to the agent has no room for it"))
            } else {
                left -= cost
                taken.append(file)
            }
        }
        return (taken, missing)
    }

    private static func megabytes(_ bytes: Int) -> String {
        guard bytes >= 1_000_000 else { return "\(bytes / 1_000) KB" }
        let tenths = bytes % 1_000_000 / 100_000
        return "\(bytes / 1_000_000)\(tenths == 0 ? "" : ".\(tenths)") MB"
    }
}
