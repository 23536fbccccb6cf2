"""rename.py MODULE OLD NEW [OLD NEW ...]   e.g. rename.py wengert.explain.tables.latex written write_latex
Renames top-level names of a module of the package, in it and wherever it is imported (src, tests, tools, benchmarks, docs).
A name bound locally in a function (argument, assignment) is left alone there. Prints what it changed; check with git diff."""
import ast,sys,subprocess,re
from pathlib import Path
module,pairs=sys.argv[1],list(zip(sys.argv[2::2],sys.argv[3::2]))
def local_names(fn):
    names=set()
    a=fn.args
    for x in [*a.posonlyargs,*a.args,*a.kwonlyargs,a.vararg,a.kwarg]:
        if x: names.add(x.arg)
    if isinstance(fn,ast.Lambda): return names
    glob=set()
    def walk(n):
        for c in ast.iter_child_nodes(n):
            if isinstance(c,(ast.Global,ast.Nonlocal)): glob.update(c.names)
            if isinstance(c,(ast.FunctionDef,ast.AsyncFunctionDef,ast.ClassDef)): names.add(c.name); continue
            if isinstance(c,ast.Lambda): continue
            if isinstance(c,(ast.ListComp,ast.SetComp,ast.DictComp,ast.GeneratorExp)):
                walk_comp(c); continue
            if isinstance(c,ast.Name) and isinstance(c.ctx,ast.Store): names.add(c.id)
            if isinstance(c,(ast.Import,ast.ImportFrom)): names.update((x.asname or x.name).split(".")[0] for x in c.names)
            if isinstance(c,ast.ExceptHandler) and c.name: names.add(c.name)
            if isinstance(c,(ast.MatchAs,ast.MatchStar)) and c.name: names.add(c.name)
            walk(c)
    def walk_comp(c):
        for n in ast.walk(c):
            if isinstance(n,ast.NamedExpr): names.add(n.target.id)
    for s in fn.body: 
        w=ast.Module([s],[]); walk(w)
    return names-glob
def uses(tree,name):
    """Name nodes that mean the module-level name."""
    out=[]
    def visit(n,shadow):
        if isinstance(n,(ast.FunctionDef,ast.AsyncFunctionDef,ast.Lambda)):
            for d in getattr(n,"decorator_list",[]): visit(d,shadow)
            for d in [*n.args.defaults,*[k for k in n.args.kw_defaults if k]]: visit(d,shadow)
            for x in [*n.args.posonlyargs,*n.args.args,*n.args.kwonlyargs,n.args.vararg,n.args.kwarg]:
                if x and x.annotation: visit(x.annotation,shadow)
            if getattr(n,"returns",None): visit(n.returns,shadow)
            s=shadow or name in local_names(n)
            for b in (n.body if isinstance(n.body,list) else [n.body]): visit(b,s)
            return
        if isinstance(n,(ast.ListComp,ast.SetComp,ast.DictComp,ast.GeneratorExp)):
            bound={x.id for g in n.generators for x in ast.walk(g.target) if isinstance(x,ast.Name)}
            s=shadow or name in bound
            visit(n.generators[0].iter,shadow)
            for i,g in enumerate(n.generators):
                if i: visit(g.iter,s)
                for c in g.ifs: visit(c,s)
            for f in ("elt","key","value"):
                if hasattr(n,f): visit(getattr(n,f),s)
            return
        if isinstance(n,ast.ClassDef):
            for d in [*n.decorator_list,*n.bases,*[k.value for k in n.keywords]]: visit(d,shadow)
            for b in n.body: visit(b,shadow)
            return
        if isinstance(n,ast.Name) and n.id==name and not shadow: out.append(n)
        for c in ast.iter_child_nodes(n): visit(c,shadow)
    visit(tree,False); return out
files=[Path(p) for p in subprocess.run("git ls-files -co --exclude-standard '*.py' '*.md'",shell=True,capture_output=True,text=True).stdout.split()]
home=Path("src")/(module.replace(".","/"))
home=home/"__init__.py" if home.is_dir() else home.with_suffix(".py")
assert home.exists(),home
def process(text,is_home,label):
    try: tree=ast.parse(text)
    except SyntaxError: return text
    offs=[0]
    for l in text.splitlines(keepends=True): offs.append(offs[-1]+len(l.encode()))
    b=text.encode(); edits=set()
    P=lambda ln,col: offs[ln-1]+col
    for old,new in pairs:
        hit=False; direct=is_home
        if is_home:
            for n in tree.body:
                if isinstance(n,(ast.FunctionDef,ast.ClassDef)) and n.name==old:
                    s=P(n.lineno,n.col_offset); i=b.index(old.encode(),s+3); edits.add((i,i+len(old),new)); hit=True
        for n in ast.walk(tree):
            if isinstance(n,ast.ImportFrom) and n.module==module:
                for a in n.names:
                    if a.name==old:
                        s=P(a.lineno,a.col_offset); edits.add((s,s+len(old),new)); hit=True
                        if not a.asname: direct=True
            if isinstance(n,(ast.ImportFrom,ast.Import)):
                for a in n.names:
                    full=f"{n.module}.{a.name}" if isinstance(n,ast.ImportFrom) else a.name
                    if full==module:
                        local=a.asname or (a.name if isinstance(n,ast.ImportFrom) else None)
                        for m in ast.walk(tree):
                            if isinstance(m,ast.Attribute) and m.attr==old and ((local and isinstance(m.value,ast.Name) and m.value.id==local) or (local is None and ast.unparse(m.value)==module)):
                                e=P(m.end_lineno,m.end_col_offset); edits.add((e-len(old),e,new))
        if direct:
            for m in uses(tree,old):
                s=P(m.lineno,m.col_offset); edits.add((s,s+len(old.encode()),new))
            if is_home and not hit and not any(isinstance(m,ast.Name) and m.id==old for m in ast.walk(tree)): print("NOT FOUND",old,label)
            clash=[m for m in ast.walk(tree) if (isinstance(m,ast.Name) and m.id==new) or (isinstance(m,ast.arg) and m.arg==new)]
            if clash and (hit or any(u for u in uses(tree,old))): print(f"look: {label} already uses the name {new} at line {clash[0].lineno}")
    if not edits: return text
    for s,e,new in sorted(edits,reverse=True): b=b[:s]+new.encode()+b[e:]
    return b.decode()
n=0
for p in files:
    t=p.read_text()
    if p.suffix==".md": new=re.sub(r"```python\n(.*?)```",lambda m:"```python\n"+process(m[1],False,str(p))+"```",t,flags=re.S)
    else: new=process(t,p==home,str(p))
    for old,nw in pairs:
        if p==home: # mentions in docstrings
            new=re.sub(r"`"+re.escape(old)+r"`","`"+nw+"`",new)
    if new!=t: p.write_text(new); n+=1
print(n,"files changed")
