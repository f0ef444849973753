package import JSONReading
package import Vocabulary

extension ToolFile {
    /// The file that a call is about to touch, if its tool is one that agents share: read, write, or a name that ends in edit.
    package static func of(_ tool: String, _ arguments: FrameNode?) -> ToolFile? {
        guard let use = use(of: tool.lowercased()) else { return nil }
        for key in ["file_path", "path", "file"] as [StaticString] {
            if let path = arguments?[key]?.string { return named(use, path) }
        }
        return nil
    }

    /// Nil if the text is no path.
    package static func named(_ use: Use, _ path: String) -> ToolFile? {
        var path = path[...]
        // A path that stays relative is not yet known to be below any folder (`ToolFile.path`).
        while path.hasPrefix("./") { path = path.dropFirst(2) }
        guard (1...4_096).contains(path.utf8.count), !path.utf8.contains(0) else { return nil }
        return ToolFile(use, String(path))
    }

    private static func use(of tool: String) -> Use? {
        switch tool {
        case "read": .read
        case "write": .write
        default: tool.hasSuffix("edit") ? .edit : nil
        }
    }

    fileprivate func below(_ folder: String) -> ToolFile {
        path.hasPrefix("/") || path.hasPrefix("~/") ? self : ToolFile(use, "\(folder)/\(path)")
    }
}

extension Observation {
    /// Puts relative files of the tool call below the agent's working folder.
    package func filesBelow(_ folder: String) -> Observation {
        guard case .signal(var signal) = self, case .tool(let event) = signal.event else { return self }
        switch event {
        case .started(var start):
            guard let file = start.file else { return self }
            start.file = file.below(folder)
            signal.event = .tool(.started(start))
        case .progress(var progress):
            guard !progress.files.isEmpty else { return self }
            progress.files = progress.files.map { $0.below(folder) }
            signal.event = .tool(.progress(progress))
        case .finished(var result):
            guard !result.files.isEmpty else { return self }
            result.files = result.files.map { $0.below(folder) }
            signal.event = .tool(.finished(result))
        }
        return .signal(signal)
    }
}
