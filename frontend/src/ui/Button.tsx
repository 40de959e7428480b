import type { ButtonHTMLAttributes } from "react";
import { Link, type LinkProps } from "react-router";

import styles from "./Button.module.css";

export type Look = "primary" | "plain" | "danger" | "quiet";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: Look;
  /** It was pressed, and the server has not answered yet. */
  busy?: boolean;
}

/** A button does something here; a link (`ButtonLink`) leads elsewhere. */
export function Button({ look = "plain", busy = false, disabled, type = "button", ...rest }: Props) {
  return (
    <button
      type={type}
      className={`${styles.button} ${styles[look]}`}
      disabled={disabled === true || busy}
      aria-busy={busy}
      {...rest}
    />
  );
}

export function ButtonLink({ look = "plain", ...rest }: LinkProps & { look?: Look }) {
  return <Link className={`${styles.button} ${styles[look]}`} {...rest} />;
}

/** A link to a file of the server's, which the browser saves. */
export function DownloadLink({ href, children }: { href: string; children: React.ReactNode }) {
  return (
    <a className={`${styles.button} ${styles.plain}`} href={href} download>
      {children}
    </a>
  );
}
