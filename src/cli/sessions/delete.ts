// `tenon sessions delete`: removes all there is of stored sessions, except of one that is open.
import { type CommandContext, print, printJson } from "../configuration/context.js";
import { EXIT } from "../exit.js";
import type { Given } from "../table/command.js";
import { visibleLine } from "../terminal/visible.js";
import { sessionLike, storedSessions } from "./find.js";

interface Values {
  readonly json?: boolean | undefined;
}

/** All are found before the first one is removed. Rejects with `session.busy` for one that is open here or elsewhere. */
export async function runSessionDelete({ values, words }: Given<Values>, context: CommandContext): Promise<number> {
  const stored = storedSessions(context);
  const sessions = [];
  for (const word of words) sessions.push(await sessionLike(word, context));
  for (const { id } of sessions) {
    const lock = await stored.lock(id);
    try {
      await stored.remove(id);
    } finally {
      await lock.release();
    }
  }
  if (values.json === true) printJson(context, { deleted: sessions.map(({ id }) => id) });
  else
    print(
      context,
      sessions.map(({ id, title }) => `deleted: ${id} ${visibleLine(title)}`),
    );
  return EXIT.done;
}
