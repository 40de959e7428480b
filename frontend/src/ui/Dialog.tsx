import { useId, useLayoutEffect, useRef, type ReactNode } from "react";

import styles from "./Dialog.module.css";

interface Props {
  title: string;
  children: ReactNode;
  /** As wide as the window. */
  isWide?: boolean;
  /** Buttons, the one that does it first. */
  actions?: ReactNode;
  /** Escape, and what else closes it; a dialog without it must be answered. */
  onClose?: () => void;
}

/** A modal dialog while it is rendered. The browser keeps the focus in it, and gives it back afterwards. */
export function Dialog({ title, children, isWide = false, actions, onClose }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // A field, or else the title: not a button, which a key that is still held would press.
    (element?.querySelector<HTMLElement>("input, select, textarea") ?? element?.querySelector("h2"))?.focus();
    return () => {
      element?.close(); // while it is still in the page: only then the focus goes back
      // What opened it may be gone, such as a form that has nothing left to ask.
      const { activeElement, body } = document;
      if (activeElement === body || element?.contains(activeElement)) document.querySelector("main")?.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className={isWide ? `${styles.dialog} ${styles.wide}` : styles.dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
      onClose={() => {
        // A browser does not ask at a second Escape.
        if (dialog.current?.open !== false) return;
        if (onClose) onClose();
        else dialog.current.showModal();
      }}
    >
      <h2 id={id} tabIndex={-1}>
        {title}
      </h2>
      <div className={styles.body}>{children}</div>
      {actions && <div className={styles.actions}>{actions}</div>}
    </dialog>
  );
}
