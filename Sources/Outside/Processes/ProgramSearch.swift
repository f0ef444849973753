import Glibc
package import Vocabulary

/// Finds the file of a command.
enum ProgramSearch {
    /// A name with a slash is a path, relative to the child's folder. Other names are searched in the child's `PATH`;
    /// relative entries are skipped, because they would run files of the workspace.
    static func path(of command: String, environment: [String]) throws(ChildFailure) -> String {
        guard !command.utf8.contains(UInt8(ascii: "/")) else { return command }
        let search =
            environment.first { $0.hasPrefix("PATH=") }.map { String($0.dropFirst(5)) }
            ?? "/usr/local/bin:/usr/bin:/bin"
        var isThere = false
        for folder in search.split(separator: ":") where folder.hasPrefix("/") {
            let path = "\(folder)/\(command)"
            guard isFile(path) else { continue }
            if access(path, X_OK) == 0 { return path }
            isThere = true
        }
        throw isThere
            ? ChildFailure(.notExecutable, "\(command) in \(search) may not be run by this user; see `chmod +x`")
            : ChildFailure(
                .notFound,
                "the command \(command) was not found in \(search)")
    }

    static func isFile(_ path: String) -> Bool {
        var about = stat()
        return stat(path, &about) == 0 && about.st_mode & S_IFMT == S_IFREG
    }

    /// The failure of `exec` or `chdir` in the child.
    static func failure(of path: String, folder: String, stage: Int32, error: Int32) -> ChildFailure {
        let found = String(cString: strerror(error))
        if stage == 2 {
            return ChildFailure(.noFolder, "the folder \(folder) cannot be entered: \(found)")
        }
        if stage == 4 { return Plumbing.failure(error, doing: "pass the streams to \(path)") }
        return switch error {
        case ENOENT where access(path, F_OK) == 0:
            ChildFailure(
                .notExecutable,
                "\(path) is there, but not the program or library that it needs: look at its first line (`#!`)")
        case ENOENT, ENOTDIR:
            ChildFailure(.notFound, "the program \(path) was not found")
        case EACCES:
            ChildFailure(
                .notExecutable, "\(path) may not be run by this user; see `chmod +x`, and `noexec` of its disk")
        case ENOEXEC:
            ChildFailure(.notExecutable, "\(path) is no program of this machine; does a script's first line say `#!`?")
        case E2BIG:
            ChildFailure(.badPlan, "arguments and environment of \(path) are too long for the system")
        default: Plumbing.failure(error, doing: "run \(path)")
        }
    }
}

extension SystemChildren {
    /// Why this plan's program could not run, or nil if it could. Nothing is started.
    package static func fault(of plan: ChildPlan) -> ChildFailure? {
        do throws(ChildFailure) {
            let path = try ProgramSearch.path(
                of: plan.arguments.first ?? "", environment: plan.environment.entries(of: Launching.ownEnvironment()))
            let whole = path.hasPrefix("/") ? path : "\(plan.folder)/\(path)"
            guard access(whole, X_OK) == 0 else {
                return ProgramSearch.failure(of: whole, folder: plan.folder, stage: 3, error: errno)
            }
            // `access` permits a folder, `exec` refuses it.
            return ProgramSearch.isFile(whole)
                ? nil : ProgramSearch.failure(of: whole, folder: plan.folder, stage: 3, error: EACCES)
        } catch {
            return error
        }
    }
}
