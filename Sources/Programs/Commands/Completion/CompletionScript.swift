/// Completion of the command line for a shell, made from the declarations like parser and help.
package struct CompletionScript {
    package static let shells = ["bash", "zsh", "fish"]

    private let commands: [CommandDeclaration]

    package init(_ commands: [CommandDeclaration]) { self.commands = commands }

    /// Nil if the shell is another one.
    package func text(for shell: String) -> String? {
        switch shell {
        case "bash": bash
        case "zsh": zsh
        case "fish": fish
        default: nil
        }
    }

    /// The candidates for a value.
    private enum Words {
        case these([String])
        case files, directories, anything

        init(_ value: String) {
            // Words with capitals are placeholders, also `unix:PATH`.
            let words = value.split(separator: "|").map(String.init).filter { word in
                !word.contains(where: \.isUppercase) && (word.contains(where: \.isLowercase) || Int(word) != nil)
            }
            switch value {
            case "FILE", "FILE…": self = .files
            case "DIR": self = .directories
            default: self = words.isEmpty ? .anything : .these(words)
            }
        }
    }

    private func operands(of command: CommandDeclaration) -> Words? {
        command.actions.isEmpty ? command.operands.map { Words($0) } : .these(command.actions)
    }

    // MARK: bash

    private var bash: String {
        let names = (commands.map(\.name) + ["--help", "--version"]).joined(separator: " ")
        let values = commands.flatMap { command in
            command.options.compactMap { option in
                option.value.map { "    '\(command.name) --\(option.name)') \(bashReply(Words($0))); return ;;" }
            }
        }
        let words = commands.map { command in
            let options = command.shownOptions.map { "--\($0.name)" }
            let rest: String
            switch operands(of: command) {
            case .these(let actions): rest = bashReply(.these(actions + options))
            case .files: rest = bashReply(.these(options)) + #"; COMPREPLY+=($(compgen -f -- "$current"))"#
            case .directories, .anything, nil: rest = bashReply(.these(options))
            }
            return "    '\(command.name)') \(rest) ;;"
        }
        return """
            # bash completion for sophon-bridge
            _sophon_bridge() {
              local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
              COMPREPLY=()
              if [ "$COMP_CWORD" -eq 1 ]; then
                \(bashReply(.these([names])))
                return
              fi
              case "$command $previous" in
            \(values.joined(separator: "\n"))
              esac
              case "$command" in
            \(words.joined(separator: "\n"))
              esac
            }
            complete -F _sophon_bridge sophon-bridge

            """
    }

    private func bashReply(_ words: Words) -> String {
        switch words {
        case .these(let words): #"COMPREPLY=($(compgen -W '\#(words.joined(separator: " "))' -- "$current"))"#
        case .files: #"COMPREPLY=($(compgen -f -- "$current"))"#
        case .directories: #"COMPREPLY=($(compgen -d -- "$current"))"#
        case .anything: "COMPREPLY=()"
        }
    }

    // MARK: zsh

    private var zsh: String {
        let names = commands.map { "    \(quoted("\($0.name):\(zshEscaped($0.summary))"))" }
        let cases = commands.map { command in
            var parts = command.shownOptions.map { option in
                let value = option.value.map { ":value:\(zshAction(Words($0)))" } ?? ""
                return quoted("--\(option.name)[\(zshEscaped(option.help))]\(value)")
            }
            if let operands = operands(of: command) { parts.append(quoted("*:operand:\(zshAction(operands))")) }
            return "    \(command.name)) _arguments \(parts.joined(separator: " ")) ;;"
        }
        return """
            #compdef sophon-bridge
            _sophon_bridge() {
              local -a commands
              commands=(
            \(names.joined(separator: "\n"))
              )
              if (( CURRENT == 2 )); then
                _describe command commands
                return
              fi
              local command=$words[2]
              shift words
              (( CURRENT-- ))
              case $command in
            \(cases.joined(separator: "\n"))
              esac
            }
            # Loaded by name when it is asked for, or at once when the text is evaluated.
            if [ "$funcstack[1]" = "_sophon-bridge" ]; then _sophon_bridge "$@"; else compdef _sophon_bridge sophon-bridge; fi

            """
    }

    private func zshAction(_ words: Words) -> String {
        switch words {
        case .these(let words): "(\(words.joined(separator: " ")))"
        case .files: "_files"
        case .directories: "_files -/"
        case .anything: " "
        }
    }

    /// Escapes characters that have a meaning within a description.
    private func zshEscaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            if "[]:\\".contains(character) { escaped += "\\" }
            escaped.append(character)
        }
        return escaped
    }

    // MARK: fish

    private var fish: String {
        var lines = ["# fish completion for sophon-bridge", "complete -c sophon-bridge -f"]
        for command in commands {
            lines.append(
                "complete -c sophon-bridge -n __fish_use_subcommand -a \(command.name) -d \(fishQuoted(command.summary))"
            )
            let condition = "complete -c sophon-bridge -n '__fish_seen_subcommand_from \(command.name)'"
            for option in command.shownOptions {
                let value = option.value.map { " -r\(fishValues(Words($0)))" } ?? ""
                lines.append("\(condition) -l \(option.name)\(value) -d \(fishQuoted(option.help))")
            }
            if let operands = operands(of: command) { lines.append(condition + fishValues(operands)) }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private func fishValues(_ words: Words) -> String {
        switch words {
        case .these(let words): " -a '\(words.joined(separator: " "))'"
        case .files: " -F"
        case .directories: " -a '(__fish_complete_directories)'"
        case .anything: ""
        }
    }

    // MARK: Quoting

    private func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
    }

    /// In fish a backslash escapes within single quotes too.
    private func fishQuoted(_ text: String) -> String {
        var quoted = "'"
        for character in text {
            if character == "'" || character == "\\" { quoted += "\\" }
            quoted.append(character)
        }
        return quoted + "'"
    }
}
