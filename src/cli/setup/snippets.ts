// Code for editors that are configured by code: Lua for Neovim's plugins, Lisp for Emacs.
import type { AgentCommand } from "./program.js";

/** An adapter of one's own, in the form of those that come with the plugin (olimorris/codecompanion.nvim). */
export function codeCompanionLua({ command, args }: AgentCommand): string {
  return `require("codecompanion").setup({
  adapters = {
    acp = {
      tenon = function()
        local helpers = require("codecompanion.adapters.acp.helpers")
        return {
          name = "tenon",
          formatted_name = "Tenon",
          type = "acp",
          roles = { llm = "assistant", user = "user" },
          opts = { vision = true },
          commands = { default = { ${[command, ...args].map(luaText).join(", ")} } },
          defaults = { mcpServers = {}, timeout = 20000 },
          parameters = {
            protocolVersion = 1,
            clientCapabilities = { fs = { readTextFile = true, writeTextFile = true } },
            clientInfo = { name = "CodeCompanion.nvim", version = "1.0.0" },
          },
          handlers = {
            setup = function() return true end,
            form_messages = function(self, messages, capabilities)
              return helpers.form_messages(self, messages, capabilities)
            end,
            on_exit = function() end,
          },
        }
      end,
    },
  },
  interactions = { chat = { adapter = "tenon" } },
})`;
}

/** `acp_providers` of yetone/avante.nvim. */
export function avanteLua({ command, args }: AgentCommand): string {
  return `require("avante").setup({
  provider = "tenon",
  acp_providers = {
    ["tenon"] = { command = ${luaText(command)}, args = { ${args.map(luaText).join(", ")} } },
  },
})`;
}

/** `agent-shell-make-agent-config` of xenodium/agent-shell, with a client of acp.el. */
export function agentShellElisp({ command, args }: AgentCommand): string {
  return `(with-eval-after-load 'agent-shell
  (add-to-list
   'agent-shell-agent-configs
   (agent-shell-make-agent-config
    :identifier 'tenon
    :mode-line-name "Tenon"
    :buffer-name "Tenon"
    :shell-prompt "Tenon> "
    :shell-prompt-regexp "Tenon> "
    :client-maker (lambda (buffer)
                    (acp-make-client :command ${lispText(command)}
                                     :command-params '(${args.map(lispText).join(" ")})
                                     :context-buffer buffer)))))`;
}

function luaText(text: string): string {
  return `"${text.replaceAll(/[\\"]/gu, (sign) => `\\${sign}`)}"`;
}

function lispText(text: string): string {
  return `"${text.replaceAll(/[\\"]/gu, (sign) => `\\${sign}`)}"`;
}
