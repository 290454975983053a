// The window over the page in which a payer chooses a wallet and pays: a heading, what stands in it at the moment, what goes wrong, and whom to ask then.

/** @param {{tag: string} & Record<string, unknown>} about its tag, and properties of the element @param {(Node | string)[]} inside */
export function element({ tag, ...properties }, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (/^(role|aria-)/.test(name)) made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...inside);
  return made;
}

/** `G…` as the page writes it elsewhere. */
export const shorten = (account) => `${account.slice(0, 6)}…${account.slice(-6)}`;

/** The wallet's letters stand for its picture, which would come from others. */
export const letters = (wallet) =>
  element({ tag: 'span', className: 'letters', 'aria-hidden': 'true' }, wallet.letters);

/** @param onClose called however it closes */
export function createDialog({ texts, style, onClose }) {
  const content = element({ tag: 'div' });
  const status = element({ tag: 'p', className: 'status', role: 'status' });
  const problem = element({ tag: 'p', className: 'problem', role: 'alert' });
  const heading = element({ tag: 'h2', id: 'wallets-title' }, texts.payByWallet);
  const shut = element({ tag: 'button', type: 'button', className: 'shut', 'aria-label': texts.close }, '×');
  const about = { tag: 'dialog', id: 'wallets', 'aria-labelledby': heading.id };
  const dialog = element(about, heading, shut, content, status, problem);
  const isStyled = new Promise((resolve) => {
    const link = element({ tag: 'link', rel: 'stylesheet', href: style, onload: resolve, onerror: resolve });
    document.head.append(link);
  });
  shut.addEventListener('click', () => dialog.close());
  dialog.addEventListener('click', (event) => event.target === dialog && dialog.close());
  dialog.addEventListener('close', onClose);
  document.body.append(dialog);

  return {
    /** @param {Element | null} support whom a payer asks who is refused */
    async open(support) {
      await isStyled;
      dialog.querySelector('.support')?.remove();
      if (support) problem.after(support.cloneNode(true));
      if (!dialog.open) dialog.showModal();
    },
    close: () => dialog.close(),
    isOpen: () => dialog.open,
    /** Puts the nodes in place of what stands there. */
    show(...nodes) {
      content.replaceChildren(...nodes);
      status.textContent = '';
      problem.textContent = '';
    },
    say(words) {
      status.textContent = words;
      problem.textContent = '';
    },
    complain(words) {
      status.textContent = '';
      problem.textContent = words;
    },
    /** While a wallet is asked, nothing else can be begun. */
    rest(isBusy) {
      for (const button of content.querySelectorAll('button')) button.disabled = isBusy;
      dialog.classList.toggle('busy', isBusy);
    },
  };
}
