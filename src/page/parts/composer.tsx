// Where a prompt is written: slash commands, attachments, mode and model, and the way to stop a turn.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { App } from "../model/app.js";
import type { OpenSession, Option, SlashCommand } from "../model/session.js";
import type { JsonObject } from "../wire/json.js";

interface Attachment {
  readonly name: string;
  readonly block: JsonObject;
}

/** Together with the prompt they go through one message of at most 32 MB. */
const ATTACHMENT_MAX_BYTES = 8_000_000;
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function Composer({ app, session }: { readonly app: App; readonly session: OpenSession }) {
  const text = useSignal("");
  const attachments = useSignal<readonly Attachment[]>([]);
  const field = useRef<HTMLTextAreaElement>(null);
  const isLive = session.standing.value === "live";
  const isBusy = session.state.value !== "idle" && isLive;
  const send = () => {
    const words = text.value.trim();
    if (words === "" && attachments.value.length === 0) return;
    const blocks = [
      ...attachments.value.map(({ block }) => block),
      ...(words === "" ? [] : [{ type: "text", text: words }]),
    ];
    text.value = "";
    attachments.value = [];
    app.run(session.prompt(blocks));
  };
  const attach = async (files: Iterable<File>) => {
    for (const file of files) attachments.value = [...attachments.value, await readAttachment(file)];
  };
  const commands = matching(session, text.value);
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <Commands
        commands={commands}
        choose={(name) => {
          text.value = `/${name} `;
          field.current?.focus();
        }}
      />
      <Attachments
        attachments={attachments.value}
        remove={(one) => (attachments.value = attachments.value.filter((other) => other !== one))}
      />
      <textarea
        ref={field}
        rows={2}
        value={text.value}
        aria-label="Message"
        placeholder={isBusy ? "Write the next message; it waits for its turn" : "Message, or / for commands"}
        onInput={(event) => (text.value = event.currentTarget.value)}
        onPaste={(event) => {
          const files = [...(event.clipboardData?.files ?? [])];
          if (files.length > 0) app.run(attach(files));
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div class="composer-bar">
        <label class="attach">
          <input type="file" multiple onChange={(event) => app.run(attach([...(event.currentTarget.files ?? [])]))} />
          Attach
        </label>
        {session.options.value.map((option) => (
          <OptionSelect app={app} session={session} option={option} />
        ))}
        <span class="spacer" />
        {isBusy && (
          <button type="button" class="danger" onClick={() => session.cancel()}>
            Stop
          </button>
        )}
        <button type="submit" class="primary" disabled={app.link.value.kind !== "online"}>
          Send
        </button>
      </div>
    </form>
  );
}

interface CommandsProps {
  readonly commands: readonly SlashCommand[];
  readonly choose: (name: string) => void;
}

function Commands({ commands, choose }: CommandsProps) {
  if (commands.length === 0) return null;
  return (
    <ul class="commands" aria-label="commands">
      {commands.map(({ name, description, hint }) => (
        <li>
          <button type="button" onClick={() => choose(name)}>
            <strong>/{name}</strong> <span class="muted">{hint}</span> {description}
          </button>
        </li>
      ))}
    </ul>
  );
}

interface AttachmentsProps {
  readonly attachments: readonly Attachment[];
  readonly remove: (one: Attachment) => void;
}

function Attachments({ attachments, remove }: AttachmentsProps) {
  if (attachments.length === 0) return null;
  return (
    <ul class="attachments" aria-label="attachments">
      {attachments.map((one) => (
        <li>
          {one.name}{" "}
          <button type="button" class="small" aria-label={`remove ${one.name}`} onClick={() => remove(one)}>
            ×
          </button>
        </li>
      ))}
    </ul>
  );
}

function OptionSelect({
  app,
  session,
  option,
}: {
  readonly app: App;
  readonly session: OpenSession;
  readonly option: Option;
}) {
  if (option.id !== "mode" && option.id !== "model" && option.id !== "thinking") return null;
  return (
    <select
      aria-label={option.name}
      value={option.value}
      onChange={(event) => {
        const select = event.currentTarget;
        const chosen = session.choose(option.id, select.value);
        app.run(
          chosen.finally(() => {
            select.value = session.options.value.find(({ id }) => id === option.id)?.value ?? option.value;
          }),
        );
      }}
    >
      {option.choices.map(({ value, name, description }) => (
        <option value={value} title={description}>
          {name}
        </option>
      ))}
    </select>
  );
}

function matching(session: OpenSession, text: string): readonly SlashCommand[] {
  const [, typed] = /^\/([\w:.-]*)$/u.exec(text) ?? [];
  if (typed === undefined) return [];
  return session.commands.value.filter(({ name }) => name.startsWith(typed)).slice(0, 8);
}

async function readAttachment(file: File): Promise<Attachment> {
  const { name, size, type } = file;
  if (size > ATTACHMENT_MAX_BYTES) throw new Error(`${name} is too long: ${ATTACHMENT_MAX_BYTES / 1e6} MB is the most`);
  if (PICTURES.includes(type)) return { name, block: { type: "image", mimeType: type, data: await base64Of(file) } };
  const text = await file.text();
  if (text.includes("\u0000")) throw new Error(`${name} is neither a text nor a picture`);
  const uri = `attachment:///${encodeURIComponent(name)}`;
  return { name, block: { type: "resource", resource: { uri, text, mimeType: type === "" ? "text/plain" : type } } };
}

async function base64Of(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8_192) binary += String.fromCharCode(...bytes.subarray(at, at + 8_192));
  return btoa(binary);
}
