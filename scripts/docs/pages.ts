// The pages of docs/reference, each from the code it is about.
import { commandsPage } from "./commands-page.js";
import { configurationPage } from "./configuration-page.js";
import { errorsPage } from "./errors-page.js";
import { limitsPage } from "./limits-page.js";

export interface Page {
  /** From the root of the repository. */
  readonly path: string;
  readonly text: string;
}

export function referencePages(): readonly Page[] {
  return [
    { path: "docs/reference/commands.md", text: commandsPage() },
    { path: "docs/reference/configuration.md", text: configurationPage() },
    { path: "docs/reference/errors.md", text: errorsPage() },
    { path: "docs/reference/limits.md", text: limitsPage() },
  ];
}
